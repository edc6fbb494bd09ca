/**
 * The shape of a verb row, enforced by the compiler, and of the whole table, checked row by row.
 *
 * @module
 */

import assert from "node:assert/strict";
import { matchVerb, verbNamed, VERBS, verbsUnder } from "core/verbs/table.ts";
import { GLOBAL_OPTIONS, type Verb, verbName } from "core/verbs/verb.ts";

const ROW = {
  path: ["x"],
  args: [],
  options: [],
  runs: "here",
  mutates: false,
  summary: "X",
  example: "fleetctl x",
} as const;

// @ts-expect-error -- a row without a scope does not compile (law 6).
const WITHOUT_SCOPE: Verb = ROW;
// @ts-expect-error -- a scope without an authorization rule does not compile either.
const WITH_ODD_SCOPE: Verb = { ...ROW, scope: "everybody" };
const WITH_SCOPE: Verb = { ...ROW, scope: "operator" };

Deno.test("Verb compiles only with a known scope", () => {
  assert.equal(WITH_SCOPE.scope, "operator");
  assert.ok(!("scope" in WITHOUT_SCOPE));
  assert.equal(WITH_ODD_SCOPE.path[0], "x");
});

Deno.test("VERBS is sorted and names each verb once", () => {
  const names = VERBS.map(verbName);
  assert.deepEqual(names, [...names].sort());
  assert.equal(new Set(names).size, names.length);
});

Deno.test("VERBS has every verb of the described command line", () => {
  const described = [
    "mcp catalog add",
    "mcp catalog upgrade",
    "mcp catalog remove",
    "mcp catalog list",
    "mcp catalog browse",
    "mcp add",
    "mcp remove",
    "mcp wired",
    "mcp read",
    "mcp call",
    "secret set",
    "secret get",
    "login",
    "apply",
    "agents restart",
    "agents add",
    "agents set",
    "agents list",
    "defaults add tools",
    "webview-gateway install",
    "webview-gateway status",
    "webview-login install",
    "teams-gateway install",
    "teams-gateway status",
    "fleet adopt",
    "fleet sync",
    "host stream-stats",
    "host set",
    "terminal status",
    "browser status",
    "auth-broker",
    "up",
    "status",
    "mcp doctor",
    "mcp catalog review",
    "mcp catalog rollback",
    "agents key list",
    "agents key revoke",
    "audit list",
    "access explain",
  ];
  assert.deepEqual(described.filter((name) => verbNamed(name) === undefined), []);
});

for (const verb of VERBS) {
  Deno.test(`VERBS row "${verbName(verb)}" is complete`, () => {
    for (const word of verb.path) assert.match(word, /^[a-z][a-z-]*$/);
    for (const option of verb.options) {
      assert.match(option.name, /^[a-z][a-z-]*$/);
      assert.ok(!GLOBAL_OPTIONS.some((one) => one.name === option.name), option.name);
      assert.ok(option.choices === undefined || option.value !== undefined);
      assert.ok(!option.secret || option.value !== undefined);
    }
    const firstOptional = verb.args.findIndex((row) => row.optional);
    assert.ok(firstOptional < 0 || verb.args.slice(firstOptional).every((row) => row.optional));
    assert.ok(verb.args.every((row, index) => !row.rest || index === verb.args.length - 1));
    assert.ok(verb.example.startsWith(`fleetctl ${verbName(verb)}`), verb.example);
    assert.doesNotMatch(verb.summary, /\.$/);
    for (const choice of verb.args.flatMap((row) => row.choices ?? [])) {
      assert.match(choice, /^[a-z][a-z_-]*$/);
    }
  });

  Deno.test(`VERBS row "${verbName(verb)}" names its target among its own words`, () => {
    const { target, scope } = verb;
    if (target === undefined) {
      assert.ok(!["self", "self_or_root", "self_or_host"].includes(scope), "needs a target");
      return;
    }
    const names = target.from === "argument"
      ? verb.args.map((row) => row.name)
      : verb.options.map((option) => option.name);
    assert.ok(names.includes(target.name));
    if (target.absent === "required") {
      assert.ok(!verb.args.find((row) => row.name === target.name)?.optional);
    }
  });
}

Deno.test("VERBS lets only read-only verbs run ungated", () => {
  for (const verb of VERBS.filter((one) => one.scope === "anyone")) {
    assert.equal(verb.mutates, false, verbName(verb));
    assert.equal(verb.runs, "here", verbName(verb));
  }
});

Deno.test("matchVerb() picks the longest row that matches, and never a similar one", () => {
  assert.equal(matchVerb(["mcp", "catalog", "list"])?.example, "fleetctl mcp catalog list");
  assert.equal(matchVerb(["mcp", "catalog"]), undefined);
  assert.equal(matchVerb([]), undefined);
  assert.deepEqual(matchVerb(["status", "extra"])?.path, ["status"]);
});

Deno.test("verbsUnder() hides verbs that are not implemented", () => {
  const names = verbsUnder(["mcp"]).map(verbName);
  assert.ok(names.includes("mcp add"));
  const unbuilt = VERBS.filter((verb) => verb.later === true && verb.path[0] === "mcp");
  for (const verb of unbuilt) assert.ok(!names.includes(verbName(verb)), verbName(verb));
});
