/**
 * Which tools require human approval, by their known annotations, and how an operator overrides it.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  checkMarked,
  markPairs,
  parseMarks,
  proposeForReview,
  proposeMarks,
  reasonToAsk,
  setMarks,
} from "core/catalog/risk_marks.ts";
import { tool } from "tests/fakes/mcp_package.ts";

const hints = (name: string, annotations?: Readonly<Record<string, unknown>>) =>
  tool(name, "A tool", annotations === undefined ? {} : { annotations });
const locked = (...definitions: readonly Readonly<Record<string, unknown>>[]) =>
  new Map(definitions.map((one) => [String(one["name"]), { hash: "h", definition: one }]));
const READS = { readOnlyHint: true };

const JUDGED:
  readonly (readonly [string, Record<string, unknown> | undefined, RegExp | undefined])[] = [
    ["read_page", READS, undefined],
    ["get_updates", READS, undefined],
    ["settings", READS, undefined],
    ["listUpdatedPages", READS, undefined],
    ["read_page", undefined, /does not claim to be read-only/],
    ["read_page", { readOnlyHint: "true" }, /does not claim to be read-only/],
    ["write_page", { readOnlyHint: false }, /does not claim/],
    ["wipe", { destructiveHint: true }, /claims to be destructive \(destructiveHint\)/],
    [
      "look",
      { readOnlyHint: true, destructiveHint: true },
      /claims to be read-only and destructive/,
    ],
    ["delete_page", READS, /its name contains "delete"/],
    ["pageDelete", READS, /its name contains "delete"/],
    ["set_topic", READS, /its name contains "set"/],
    ["get_result_set", READS, /its name contains "set"/],
    ["git_commit", READS, /its name contains "commit"/],
    ["db_push", READS, /its name contains "push"/],
    ["db-push", READS, /its name contains "push"/],
    ["repo.push", READS, /its name contains "push"/],
    ["gitPushTags", READS, /its name contains "push"/],
    ["HTTPDelete", READS, /its name contains "delete"/],
    ["DELETE", READS, /its name contains "delete"/],
    ["query2delete", READS, /its name contains "delete"/],
    ["page_\uff44\uff45\uff4c\uff45\uff54\uff45", READS, /its name contains "delete"/],
  ];
for (const [name, annotations, want] of JUDGED) {
  Deno.test(`reasonToAsk() of ${name} with ${JSON.stringify(annotations)}`, () => {
    const why = reasonToAsk(name, hints(name, annotations));
    if (want === undefined) assert.equal(why, undefined);
    else assert.match(why ?? "", want);
  });
}

Deno.test("proposeMarks() marks tools not known to be read-only, unless already marked", () => {
  const tools = locked(hints("read_page", READS), hints("write_page"), hints("wipe"));
  const outcome = parseMarks(["wipe=block"]);
  assert.ok(outcome.ok);
  assert.deepEqual(markPairs(proposeMarks(tools, outcome.value)), [["write_page", "ask"]]);
  const every = parseMarks(["*=allow"]);
  assert.ok(every.ok);
  assert.deepEqual(proposeMarks(tools, every.value), []);
});

Deno.test("proposeMarks() marks every tool where none is known or a name cannot be marked", () => {
  assert.deepEqual(markPairs(proposeMarks(undefined, new Map())), [["*", "ask"]]);
  const odd = locked(hints("Write a page"), hints("wipe"));
  assert.deepEqual(markPairs(proposeMarks(odd, new Map())), [["wipe", "ask"], ["*", "ask"]]);
});

Deno.test("proposeForReview() adds no mark to a tool that an operator accepted without one", () => {
  const before = locked(hints("write_page"), hints("read_page", READS));
  const held = locked(hints("write_page"), hints("read_page", {}), hints("fresh"));
  assert.deepEqual(markPairs(proposeForReview(held, before, new Map())), [
    ["read_page", "ask"],
    ["fresh", "ask"],
  ]);
});

Deno.test("parseMarks() accepts tool=mark and refuses everything else", () => {
  const marks = parseMarks(["a.b/c=ask", "d=block", "e=allow", "*=ask"]);
  assert.deepEqual(marks.ok && [...marks.value], [
    ["a.b/c", "ask"],
    ["d", "block"],
    ["e", "allow"],
    ["*", "ask"],
  ]);
  for (const bad of ["", "a", "=ask", "a=", "a=maybe", "a b=ask", "*=block"]) {
    const parsed = parseMarks([bad]);
    assert.ok(!parsed.ok && parsed.error.code === "mark-invalid", bad);
  }
  assert.ok(!parseMarks(["a=ask", "a=block"]).ok);
});

Deno.test("checkMarked() lists the existing tools", () => {
  const refused = checkMarked(new Map([["wrte", "ask"]]), ["write", "read"]);
  assert.ok(!refused.ok && refused.error.code === "tool-unknown");
  assert.deepEqual(refused.error.details, ["read", "write"]);
  assert.ok(checkMarked(new Map([["*", "ask"], ["read", "block"]]), ["read"]).ok);
});

Deno.test("setMarks() adds and removes marks, and keeps comments and read_only", () => {
  const text =
    "name: x\n# why\ntools:\n  a:\n    risk: ask\n  b:\n    risk: ask\n    read_only: true\n";
  const set = setMarks(text, [["a", "allow"], ["b", "allow"], ["c", "block"]], "x");
  assert.ok(set.ok);
  assert.equal(
    set.value,
    "name: x\n# why\ntools:\n  b:\n    read_only: true\n  c:\n    risk: block\n",
  );
  const none = setMarks("name: x\ntools:\n  a:\n    risk: ask\n", [["a", "allow"]], "x");
  assert.equal(none.ok && none.value, "name: x\n");
});
