/**
 * An approval: its states, what it is bound to, and that it can be used once.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { CallOrigin } from "core/mcp/call_origin.ts";
import { readOrigin } from "core/mcp/call_origin.ts";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import type { McpName } from "core/names.ts";
import type { Result } from "core/result.ts";
import {
  applyApproval,
  type Approval,
  createApproval,
  decideApproval,
  deliverApproval,
  endApproval,
  isOpen,
} from "core/risk/approval.ts";
import { callDigest, canonicalJson, policyDigest, type ToolCall } from "core/risk/call.ts";
import type { Gate } from "core/risk/rules.ts";

const NOW = Date.UTC(2026, 0, 1);
const CALL: ToolCall = {
  agent: "mia",
  mcp: "git",
  version: "1.0.0",
  tool: "git_push",
  arguments: { remote: "origin", options: { force: false, tags: ["v1"] } },
  origin: { kind: "direct" },
};
const GATE: Gate = {
  mcp: "git" as McpName,
  version: "1.0.0",
  reads: new Set(),
  idleStopSeconds: undefined,
  rules: new Map([["git_push", "ask"]]),
};
const BASE = createApproval(CALL, {
  id: "a1",
  digest: "d1",
  isDestructive: true,
  turnId: "t1",
  now: NOW,
});
const YES = { decision: "approved", by: "owner:mia", surface: "page", digest: "d1" } as const;

function valueOf<T>(result: Result<T>): T {
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}
const codeOf = (result: Result<unknown>) => result.ok ? "ok" : result.error.code;
const approved = (at = NOW + 1) => valueOf(decideApproval(BASE, { ...YES, at }));
const delivered = (at = NOW + 1) => deliverApproval(approved(at));

Deno.test("an approval is requested, decided, delivered and applied, in this order only", () => {
  const use = { digest: "d1", now: NOW + 2 };
  assert.equal(codeOf(applyApproval(BASE, use)), "approval-not-given");
  assert.equal(codeOf(applyApproval(approved(), use)), "approval-not-given");
  const applied = valueOf(applyApproval(delivered(), use));
  assert.equal(applied.state, "applied");
  // A replay of the same approval.
  assert.equal(codeOf(applyApproval(applied, use)), "approval-used");
  assert.equal(codeOf(decideApproval(applied, { ...YES, at: NOW + 3 })), "approval-decided");
  assert.equal(endApproval(applied, "superseded"), undefined);
});

Deno.test("the first decision counts, whatever the second one says", () => {
  const second = decideApproval(approved(), { ...YES, decision: "denied", at: NOW + 2 });
  assert.equal(codeOf(second), "approval-decided");
  const denied = valueOf(decideApproval(BASE, { ...YES, decision: "denied", at: NOW + 1 }));
  assert.equal(codeOf(decideApproval(denied, { ...YES, at: NOW + 2 })), "approval-decided");
  const told = deliverApproval(denied);
  assert.equal(isOpen(told), false);
  assert.equal(
    codeOf(applyApproval(told, { digest: "d1", now: NOW + 2 })),
    "approval-not-given",
  );
});

Deno.test("a late decision, or one about another call, is refused", () => {
  assert.equal(
    codeOf(decideApproval(BASE, { ...YES, digest: "d2", at: NOW })),
    "approval-other-call",
  );
  assert.equal(codeOf(decideApproval(BASE, { ...YES, at: BASE.expiresAt })), "approval-expired");
  for (const state of ["expired", "superseded"] as const) {
    const ended = endApproval(BASE, state) as Approval;
    assert.equal(codeOf(decideApproval(ended, { ...YES, at: NOW })), `approval-${state}`);
    assert.notEqual(codeOf(applyApproval(ended, { digest: "d1", now: NOW })), "ok");
  }
});

Deno.test("an approval is not used after its time, or if one argument differs", () => {
  const stale = NOW + 1 + APPROVAL_LIMITS.useSeconds * 1000;
  assert.equal(
    codeOf(applyApproval(delivered(), { digest: "d1", now: stale })),
    "approval-expired",
  );
  assert.equal(
    codeOf(applyApproval(delivered(), { digest: "d2", now: NOW + 2 })),
    "approval-other-call",
  );
});

Deno.test("the digest changes with every part of a call, and with the policy", async () => {
  const policy = await policyDigest(GATE);
  const digest = await callDigest(CALL, policy);
  const changed: readonly Partial<ToolCall>[] = [
    { agent: "bob" },
    { mcp: "notes" },
    { version: "1.0.1" },
    { tool: "git_pull" },
    { arguments: { remote: "origin", options: { force: true, tags: ["v1"] } } },
    { arguments: { remote: "origin", options: { force: false, tags: ["v1", ""] } } },
    { arguments: { remote: "origin" } },
    { origin: { kind: "verb", verb: "mcp call" } },
    { origin: { kind: "script", script: "s", call: 1 } },
    { origin: { kind: "script", script: "s", call: 2 } },
  ];
  const digests = await Promise.all(
    changed.map((part) => callDigest({ ...CALL, ...part }, policy)),
  );
  const other = { ...GATE, rules: new Map([...GATE.rules, ["git_tag", "ask"] as const]) };
  const all = [digest, ...digests, await callDigest(CALL, await policyDigest(other))];
  assert.equal(new Set(all).size, changed.length + 2);
  // The order of keys is not part of a call.
  const turned = { options: { tags: ["v1"], force: false }, remote: "origin" };
  assert.equal(await callDigest({ ...CALL, arguments: turned }, policy), digest);
});

Deno.test("canonicalJson() prints equal values the same, and different values differently", () => {
  fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
    const again = JSON.parse(JSON.stringify(one));
    assert.equal(canonicalJson(one), canonicalJson(again));
    assert.deepEqual(JSON.parse(canonicalJson(one)), JSON.parse(JSON.stringify(one)));
    if (canonicalJson(one) === canonicalJson(other)) {
      assert.deepEqual(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other)));
    }
  }));
  let deep: unknown = 1;
  for (let level = 0; level < 1_000; level++) deep = [deep];
  assert.throws(() => canonicalJson(deep), RangeError);
});

Deno.test("readOrigin() reads origins of fleetctl's programs; others are direct", () => {
  const origins: readonly CallOrigin[] = [
    { kind: "script", script: "abc", call: 3 },
    { kind: "verb", verb: "mcp call" },
    { kind: "relayed", verb: "mcp read", by: "the operator" },
  ];
  for (const origin of origins) assert.deepEqual(readOrigin(origin), origin);
  for (
    const wrong of [
      undefined,
      null,
      7,
      "script",
      {},
      { kind: "script", script: "", call: 1 },
      { kind: "script", script: "a", call: 0 },
      { kind: "verb", verb: "rm" },
      { kind: "relayed", verb: "mcp read", by: "x".repeat(1_000) },
    ]
  ) assert.deepEqual(readOrigin(wrong), { kind: "direct" });
});
