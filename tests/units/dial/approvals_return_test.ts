/**
 * Approvals of a turn that continues: their caller ends and returns, before or after the decision,
 * also while the dial unit was down.
 *
 * @module
 */

import assert from "node:assert/strict";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import { policyDigest } from "core/risk/call.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { BENCH_GATE } from "tests/support/mcp_proxy.ts";
import { type Approvals, openApprovals, type Question } from "units/dial/approvals.ts";
import { openDialStore } from "units/dial/store.ts";

const CALL = {
  mcp: "bench",
  version: "1.0.0",
  tool: "write",
  arguments: { n: 1 },
  origin: { kind: "direct" },
} as const;
const OF = { policy: await policyDigest(BENCH_GATE), isDestructive: true };
const LOCK = new Map([["look", "0".repeat(64)]]);
const YES = { decision: "approved", by: "the operator", surface: "cli" } as const;
const MINUTE = 60_000;

async function bench({ askSeconds, goesOn = true }: {
  readonly askSeconds?: number;
  readonly goesOn?: boolean;
} = {}) {
  const host = memoryHost();
  const store = await openDialStore(host.databases, "/dial.db", "epoch");
  store.accept({ turnId: "t1", text: "go", origin: "owner" });
  store.append([], { turnId: "t1", to: "running", goesOn });
  const open = () =>
    openApprovals({
      agent: "mia",
      store,
      clock: host.clock,
      random: host.random,
      log: host.log,
      askSeconds,
      goesOn: (turnId) => store.progress.of(turnId).goesOn,
      onStored: () => {},
      onWaiting: () => {},
    });
  const kinds = () =>
    store.read(1, store.last()).map(({ kind, payload }) => `${kind} ${payload.state ?? ""}`.trim());
  return { host, store, open, approvals: open(), kinds };
}

async function ask(approvals: Approvals, over: object = {}, of = OF): Promise<Question> {
  const question = await approvals.ask({ ...CALL, ...over }, of);
  assert.ok(question.ok, JSON.stringify(question));
  return question.value;
}

Deno.test("a caller that returns finds its question, and the decision that came", async () => {
  const { host, approvals, kinds } = await bench();
  const first = await ask(approvals);
  const { id, digest } = first.approval;
  first.leave();
  assert.equal(approvals.find(id)?.state, "asked");
  assert.ok(approvals.decide({ ...YES, id, digest }).ok);
  // The time for the claim runs from the return, not from the decision.
  await host.clock.advance(MINUTE + 1);
  const again = await ask(approvals);
  assert.equal(again.approval.id, id);
  assert.equal((await again.outcome).kind, "approved");
  assert.ok(again.delivered().ok);
  await host.clock.advance(MINUTE - 1);
  assert.ok(again.use(digest).ok);
  assert.deepEqual(kinds(), ["approval_asked", "approval_decided", "approval_ended applied"]);
});

Deno.test("a caller that returned and ended again before the claim returns once more", async () => {
  const { approvals } = await bench();
  const first = await ask(approvals);
  const { id, digest } = first.approval;
  approvals.decide({ ...YES, id, digest });
  assert.ok(first.delivered().ok);
  first.leave();
  const again = await ask(approvals);
  assert.equal(again.approval.id, id);
  assert.ok(again.use(digest).ok);
  again.leave();
  const later = await ask(approvals);
  assert.notEqual(later.approval.id, id, "a used approval is found by no caller");
});

Deno.test("two approvals that were decided while everything was down are found later", async () => {
  const { approvals, open } = await bench();
  const [one, two] = [await ask(approvals), await ask(approvals, { arguments: { n: 2 } })];
  approvals.decide({ ...YES, id: one.approval.id, digest: one.approval.digest });
  approvals.close();
  const second = open();
  const { id, digest } = two.approval;
  assert.ok(second.decide({ ...YES, id, digest, decision: "denied", reason: "no" }).ok);
  assert.equal((await (await ask(second)).outcome).kind, "approved");
  const denied = await (await ask(second, { arguments: { n: 2 } })).outcome;
  assert.equal(denied.kind, "denied");
  second.close();
});

for (
  const [what, over, of] of [
    ["policy", {}, { ...OF, policy: "q" }],
    ["tool lock", {}, { ...OF, policy: await policyDigest({ ...BENCH_GATE, accepted: LOCK }) }],
    ["pin", { version: "2.0.0" }, OF],
  ] as const
) {
  Deno.test(`a ${what} that changed supersedes the question, and asks again`, async () => {
    const { approvals, kinds } = await bench();
    const first = await ask(approvals);
    approvals.decide({ ...YES, id: first.approval.id, digest: first.approval.digest });
    first.leave();
    const again = await ask(approvals, over, of);
    assert.notEqual(again.approval.id, first.approval.id);
    assert.equal(again.approval.state, "asked");
    assert.equal(approvals.find(first.approval.id)?.state, "superseded");
    assert.deepEqual(kinds().slice(-2), ["approval_ended superseded", "approval_asked"]);
    approvals.close();
  });
}

for (
  const [why, prepare] of [
    ["whose turn cannot continue", () => bench({ goesOn: false })],
    ["of a verb", () => bench()],
  ] as const
) {
  Deno.test(`a question ${why} ends with its caller`, async () => {
    const { approvals } = await prepare();
    const over = why === "of a verb" ? { origin: { kind: "verb", verb: "mcp call" } } : {};
    const first = await ask(approvals, over);
    first.leave();
    assert.equal(approvals.find(first.approval.id)?.state, "superseded");
  });
}

Deno.test("a caller that does not return in time loses its question", async () => {
  const { host, approvals } = await bench();
  const { approval: { id }, leave } = await ask(approvals);
  leave();
  await host.clock.advance(APPROVAL_LIMITS.returnSeconds * 1000 - 1);
  approvals.turnResumed("t1");
  await host.clock.advance(APPROVAL_LIMITS.returnSeconds * 1000 - 1);
  assert.equal(approvals.find(id)?.state, "asked");
  await host.clock.advance(1);
  assert.equal(approvals.find(id)?.state, "superseded");
});

Deno.test("the end of the turn supersedes a question that waits for its caller", async () => {
  const { approvals } = await bench();
  const { approval: { id }, leave } = await ask(approvals);
  leave();
  approvals.turnEnded("t1");
  assert.equal(approvals.find(id)?.state, "superseded");
});

Deno.test("a question expires after the set time, also while the unit is down", async () => {
  const { host, approvals, open } = await bench({ askSeconds: 600 });
  const { approval } = await ask(approvals);
  assert.equal(approval.expiresAt, host.clock.now() + 600_000);
  approvals.close();
  await host.clock.advance(600_000);
  const second = open();
  assert.equal(second.find(approval.id)?.state, "expired");
  second.close();
});
