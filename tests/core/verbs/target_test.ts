/**
 * The target of an invocation: `self`, none, an agent, the host.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Caller } from "core/verbs/caller.ts";
import { addressFor } from "core/verbs/target.ts";
import { ADMIN, AGENT, invocationOf, OPERATOR, OTHER } from "tests/core/verbs/callers.ts";

const ROWS: readonly [caller: Caller, argv: string, want: string][] = [
  [AGENT, "mcp add git self", "agent ada"],
  [AGENT, "mcp add git bea", "agent bea"],
  [ADMIN, "mcp add git self", "agent zoe"],
  [OPERATOR, "mcp add git self", "refused self-unknown"],
  [OTHER, "mcp add git self", "refused self-unknown"],
  [AGENT, "mcp add git root", "refused name-invalid"],
  [AGENT, "mcp add git ../bea", "refused name-invalid"],
  [AGENT, "mcp read git log", "agent ada"],
  [OPERATOR, "mcp read git log", "refused self-unknown"],
  [OPERATOR, "mcp read git log ada", "agent ada"],
  [AGENT, "secret get KEY", "agent ada"],
  [AGENT, "secret get FLEETCTL_HOST_OP_SECRET", "agent ada"],
  [ADMIN, "secret get KEY", "agent zoe"],
  [ADMIN, "secret get FLEETCTL_HOST_OP_SECRET", "host"],
  [ADMIN, "secret get FLEETCTL_HOST_OP_GRANT_SECRET", "host"],
  [OPERATOR, "secret get KEY", "host"],
  [AGENT, "secret set KEY --value x", "host"],
  [AGENT, "secret set KEY --value x --agent self", "agent ada"],
  [AGENT, "apply", "host"],
  [AGENT, "apply self", "agent ada"],
  [OPERATOR, "apply self", "refused self-unknown"],
  [OPERATOR, "status", "none"],
];

for (const [caller, argv, want] of ROWS) {
  Deno.test(`addressFor() sends "${argv}" by ${caller.kind} to: ${want}`, () => {
    const got = addressFor(invocationOf(...argv.split(" ")), caller);
    if (!got.ok) return assert.equal(`refused ${got.error.code}`, want);
    const { target } = got.value;
    assert.equal(target.kind === "agent" ? `agent ${target.agent}` : target.kind, want);
  });
}

Deno.test("addressFor() leaves no self in the invocation", () => {
  const add = addressFor(invocationOf("mcp", "add", "git", "self"), AGENT);
  assert.ok(add.ok);
  assert.equal(add.value.invocation.args.agent, "ada");
  const set = addressFor(
    invocationOf("secret", "set", "K", "--value", "x", "--agent", "self"),
    AGENT,
  );
  assert.ok(set.ok);
  assert.equal(set.value.invocation.options.agent, "ada");
});
