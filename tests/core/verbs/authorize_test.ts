/**
 * The message of each denial, and where a verb runs. The table of who may run what is in
 * `tests/cli/authorize_matrix_test.ts`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { authorize, needsRoot } from "core/verbs/authorize.ts";
import type { Caller } from "core/verbs/caller.ts";
import { addressFor } from "core/verbs/target.ts";
import { verbNamed, VERBS } from "core/verbs/table.ts";
import {
  ADMIN,
  AGENT,
  agentNamed,
  GATEWAY,
  invocationOf,
  invocationOfRow,
  OPERATOR,
  OTHER,
} from "tests/core/verbs/callers.ts";

function decide(caller: Caller, ...argv: readonly string[]) {
  const addressed = addressFor(invocationOf(...argv), caller);
  assert.ok(addressed.ok);
  return authorize(caller, addressed.value);
}

const DENIALS: readonly {
  readonly caller: Caller;
  readonly argv: readonly string[];
  readonly code: string;
  readonly message: string;
  readonly hints: readonly string[];
}[] = [
  {
    caller: AGENT,
    argv: ["secret", "set", "NOTES_TOKEN", "--value", "hunter2"],
    code: "shared-shard-denied",
    message:
      'Cannot set "NOTES_TOKEN" for the whole host as agent "ada": shared and host secrets are ' +
      "operator-only",
    hints: ["fleetctl secret set NOTES_TOKEN --agent self"],
  },
  {
    caller: AGENT,
    argv: ["secret", "set", "NOTES_TOKEN", "--value", "hunter2", "--agent", "bea"],
    code: "self-target-only",
    message:
      'Cannot run "secret set" for agent "bea" as agent "ada": the target must be the caller, ' +
      "or the caller an admin",
    hints: ["fleetctl secret set NOTES_TOKEN --agent self"],
  },
  {
    caller: AGENT,
    argv: ["turn", "bea", "what's new?"],
    code: "self-target-only",
    message:
      'Cannot run "turn" for agent "bea" as agent "ada": the target must be the caller, or the ' +
      "caller an admin",
    hints: ["fleetctl turn self -"],
  },
  {
    caller: AGENT,
    argv: ["mcp", "add", "git", "bea"],
    code: "self-target-only",
    message:
      'Cannot run "mcp add" for agent "bea" as agent "ada": the target must be the caller, or ' +
      "the caller an admin",
    hints: ["fleetctl mcp add git self"],
  },
  {
    caller: AGENT,
    argv: ["agents", "add", "x", "--channel", "webview"],
    code: "operator-only",
    message:
      'Cannot run "agents add" as agent "ada": it is operator-only, must be root or an agent ' +
      "with admin: true",
    hints: [],
  },
  {
    caller: AGENT,
    argv: ["apply"],
    code: "operator-only",
    message:
      'Cannot run "apply" as agent "ada": it is operator-only, must be root or an agent with ' +
      "admin: true",
    hints: ["fleetctl apply self"],
  },
  {
    caller: GATEWAY,
    argv: ["agents", "key", "revoke", "ada"],
    code: "caller-unknown",
    message:
      'Cannot run "agents key revoke": the caller is the gateway, must be root or an agent of ' +
      "this host",
    hints: [],
  },
  {
    caller: AGENT,
    argv: ["agents", "key", "enroll", "ada", "A".repeat(43)],
    code: "operator-only",
    message:
      'Cannot run "agents key enroll" as agent "ada": it is operator-only, must be root or an ' +
      "agent with admin: true",
    hints: [],
  },
  {
    caller: OTHER,
    argv: ["status"],
    code: "caller-unknown",
    message: 'Cannot run "status": the caller is uid 1009, not an agent of this host, must be ' +
      "root or an agent of this host",
    hints: [],
  },
];

for (const { caller, argv, code, message, hints } of DENIALS) {
  Deno.test(`authorize() denies "${argv.slice(0, 3).join(" ")}" with ${code}`, () => {
    const decision = decide(caller, ...argv);
    assert.ok(!decision.allowed);
    assert.equal(decision.refusal.kind, "denied");
    assert.equal(decision.refusal.code, code);
    assert.equal(decision.refusal.message, message);
    assert.deepEqual(decision.refusal.hints, hints);
    assert.doesNotMatch(JSON.stringify(decision), /hunter2/);
  });
}

Deno.test("authorize() refuses a cross-agent call of an admin", () => {
  const row = verbNamed("mcp call");
  assert.ok(row !== undefined);
  const addressed = addressFor(invocationOfRow(row, "ada"), ADMIN);
  assert.ok(addressed.ok);
  const decision = authorize(ADMIN, addressed.value);
  assert.ok(!decision.allowed);
  assert.equal(decision.refusal.code, "cross-agent-root-only");
});

Deno.test("authorize() returns a reason with every answer", () => {
  for (const verb of VERBS) {
    for (const caller of [OPERATOR, ADMIN, AGENT, GATEWAY, OTHER]) {
      const addressed = addressFor(invocationOfRow(verb, "ada"), caller);
      if (addressed.ok) assert.notEqual(authorize(caller, addressed.value).reason, "");
    }
  }
});

Deno.test("authorize() allows an unknown caller only verbs that are open to everyone", () => {
  for (const verb of VERBS.filter((one) => one.scope !== "anyone")) {
    const addressed = addressFor(invocationOfRow(verb, "ada"), OTHER);
    assert.ok(!addressed.ok || !authorize(OTHER, addressed.value).allowed);
  }
});

Deno.test("needsRoot() lets an agent work on itself with its own rights", () => {
  const read = verbNamed("mcp read");
  assert.ok(read !== undefined);
  const target = (name: string) => ({ kind: "agent", agent: agentNamed(name) }) as const;
  assert.equal(needsRoot(read, AGENT, target("ada")), false);
  assert.equal(needsRoot(read, AGENT, target("bea")), true);
  assert.equal(needsRoot(read, OPERATOR, target("ada")), true);
});
