/**
 * A call that asks, on its full path: proxy, dial unit, gateway, page and command line, and back.
 * There is one test for each complaint about approvals from users of other products.
 *
 * @module
 */

import assert from "node:assert/strict";
import { toolHash } from "core/catalog/tool_lock.ts";
import { listApprovals, sendDecision } from "core/dial/ask_human.ts";
import { systemClock } from "core/os/clock.ts";
import { connectUnix } from "core/os/connect_unix.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { Gate } from "core/risk/rules.ts";
import { approvalScene, SCENE_GATE } from "tests/support/approval_scene.ts";
import type { Wire } from "tests/support/mcp_proxy.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;
const code = (answer: Wire) => answer.result?._meta?.fleetctl?.code;
const ended = (id: string, state: string) => (event: Wire) =>
  event.kind === "approval_ended" && event.payload.approval_id === id &&
  event.payload.state === state;

Deno.test("a decision from the page reaches the call that waits for it", SAFE, async () => {
  await using scene = await approvalScene();
  const answer = scene.call(1, "write", { path: "/srv/a", text: "x" });
  const [shown] = await scene.asked(1);
  assert.ok(shown);
  assert.deepEqual(shown.arguments, { path: "/srv/a", text: "x" });
  assert.deepEqual([shown.turn_id, shown.origin], [scene.turnId, "direct"]);
  assert.equal(scene.executed.length, 0);
  const decided = await scene.decide(shown, "approved");
  assert.equal(decided.status, 202);
  assert.match((await answer).result.content[0].text, /"path":"\/srv\/a"/);
  assert.equal(scene.executed.length, 1);
  const events = await scene.cockpit.follow(ended(shown.approval_id, "applied"));
  const kinds = events.map(({ kind }) => kind).filter((kind) => kind.startsWith("approval"));
  assert.deepEqual(kinds, ["approval_asked", "approval_decided", "approval_ended"]);
  const states = events.filter(({ kind }) => kind === "agent_state").map((e) => e.payload.state);
  assert.ok(states.includes("waiting-approval"));
});

Deno.test(
  "several prompts of one turn are all shown, and are decided separately",
  SAFE,
  async () => {
    await using scene = await approvalScene();
    const answers = [1, 2, 3].map((id) => scene.call(id, "write", { n: id }));
    const shown = await scene.asked(3);
    assert.equal(shown.length, 3);
    assert.deepEqual(new Set(shown.map(({ turn_id }) => turn_id)), new Set([scene.turnId]));
    const of = (n: number) => shown.find((each) => each.arguments.n === n)!;
    await scene.decide(of(3), "approved");
    assert.equal((await answers[2])?.result.isError, undefined);
    await scene.decide(of(1), "denied", { reason: "not this one" });
    const denied = await answers[0];
    assert.equal(code(denied), "approval-denied");
    // The reason reaches the model.
    assert.match(denied.result.content[0].text, /: mia@example.org denied it: not this one/);
    await scene.decide(of(2), "approved");
    await answers[1];
    assert.deepEqual(scene.executed.map((params) => params.arguments.n), [3, 2]);
  },
);

Deno.test("an executed call is not shown again after a reconnect", SAFE, async () => {
  await using scene = await approvalScene();
  const answer = scene.call(1, "write", {});
  const [shown] = await scene.asked(1);
  await scene.decide(shown!, "approved");
  await answer;
  await scene.cockpit.follow(ended(shown!.approval_id, "applied"));
  assert.deepEqual(await scene.open(), []);
  // A tab that still shows the call gets its own answer and changes nothing.
  const again = await scene.decide(shown!, "denied");
  assert.equal(again.status, 409);
  assert.equal(again.body.code, "approval-decided");
  assert.equal(scene.executed.length, 1);
});

Deno.test("a prompt is on every surface at once, and the first decision wins", SAFE, async () => {
  await using scene = await approvalScene();
  const answer = scene.call(1, "write", { n: 1 });
  const [shown] = await scene.asked(1);
  const at = { socket: scene.socket, connect: connectUnix, clock: systemClock() };
  const listed = await listApprovals(at);
  assert.ok(listed.ok, JSON.stringify(listed));
  const waiting = listed.value.filter(({ state }) => state === "asked");
  assert.deepEqual(waiting.map(({ id }) => id), [shown!.approval_id]);
  const { id, digest } = waiting[0]!;
  const verdict = { id, digest, by: "the operator" };
  const first = await sendDecision(at, { ...verdict, decision: "denied", reason: "no" });
  assert.ok(first.ok, JSON.stringify(first));
  assert.match((await answer).result.content[0].text, /the operator denied it: no/);
  const second = await sendDecision(at, { ...verdict, decision: "approved" });
  assert.ok(!second.ok && second.error.code === "approval-decided");
  await scene.cockpit.follow(ended(id, "delivered"));
  assert.equal((await scene.decide(shown!, "approved")).body.code, "approval-decided");
  assert.equal(scene.executed.length, 0);
});

Deno.test(
  "a decision counts for the shown call only, and only from its owner",
  SAFE,
  async () => {
    await using scene = await approvalScene();
    const first = scene.call(1, "write", { n: 1 });
    const second = scene.call(2, "erase", { n: 2 });
    const both = await scene.asked(2);
    const [one, two] = both.toSorted((a, b) => Number(a.arguments.n) - Number(b.arguments.n));
    const mixed = { approval_id: one!.approval_id, digest: two!.digest };
    const wrong = await scene.decide(mixed, "approved");
    assert.deepEqual([wrong.status, wrong.body.code], [409, "approval-other-call"]);
    const stranger = await scene.decide(one!, "approved", { as: "bob@example.org" });
    assert.equal(stranger.status, 403);
    const unknown = await scene.decide({ ...one!, approval_id: "none" }, "approved");
    assert.deepEqual([unknown.status, unknown.body.code], [404, "approval-unknown"]);
    // None of these requests affected the two pending approvals.
    assert.equal((await scene.open()).length, 2);
    await scene.decide(one!, "approved");
    await scene.decide(two!, "denied");
    await Promise.all([first, second]);
    assert.deepEqual(scene.executed.map((params) => params.arguments.n), [1]);
  },
);

Deno.test(
  "waiting for a human uses no deadline, and the client gets progress",
  SAFE,
  async () => {
    await using scene = await approvalScene();
    const answer = scene.call(1, "write", {}, { progressToken: "p" });
    const [shown] = await scene.asked(1);
    // Ten times the limit for a call.
    await scene.proxy.clock.advance(10 * MCP_LIMITS.callSeconds * 1000);
    await scene.decide(shown!, "approved");
    assert.equal((await answer).result.isError, undefined);
    assert.equal(scene.executed.length, 1);
    const marks = scene.notices.map(({ params }) => params.progress);
    assert.ok(marks.length >= 100, `${marks.length} signs of life`);
    assert.deepEqual(marks, [...marks].sort((a, b) => a - b));
    assert.ok(scene.notices.every(({ params }) => params.progressToken === "p"));
  },
);

Deno.test("a client that cancels or disconnects withdraws its question", SAFE, async () => {
  await using scene = await approvalScene();
  void scene.call(1, "write", {});
  const [shown] = await scene.asked(1);
  await scene.proxy.send({
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: 1, reason: "enough" },
  });
  await scene.cockpit.follow(ended(shown!.approval_id, "superseded"));
  const late = await scene.decide(shown!, "approved");
  assert.deepEqual([late.status, late.body.code], [409, "approval-superseded"]);
  void scene.call(2, "write", {});
  const [second] = await scene.asked(2);
  await scene.leave();
  await scene.cockpit.follow(ended(second!.approval_id, "superseded"));
  assert.equal(scene.executed.length, 0);
});

Deno.test("a change of rules while a human decides voids the approval", SAFE, async () => {
  await using scene = await approvalScene();
  const changes: readonly (readonly [Gate["rules"], string])[] = [
    [new Map([["write", "block"]]), "tool-blocked"],
    [new Map([["write", "ask"], ["look", "ask"]]), "approval-other-call"],
  ];
  let count = 0;
  for (const [rules, want] of changes) {
    scene.setGate(SCENE_GATE);
    const answer = scene.call(++count, "write", {});
    const shown = (await scene.asked(count)).at(-1)!;
    scene.setGate({ ...SCENE_GATE, rules });
    await scene.decide(shown, "approved");
    assert.equal(code(await answer), want);
  }
  assert.equal(scene.executed.length, 0);
});

Deno.test("a changed tool lock voids the approval, and a new call asks again", SAFE, async () => {
  await using scene = await approvalScene();
  const accepted = new Map<string, string>();
  for (const name of ["look", "wipe", "write"]) {
    accepted.set(name, await toolHash({ name, inputSchema: { type: "object" } }));
  }
  scene.setGate({ ...SCENE_GATE, accepted });
  const first = scene.call(1, "write", {});
  const shown = (await scene.asked(1)).at(-1)!;
  scene.setGate({ ...SCENE_GATE, accepted: new Map([...accepted, ["look", "0".repeat(64)]]) });
  await scene.decide(shown, "approved");
  assert.equal(code(await first), "approval-other-call");
  await scene.cockpit.follow(ended(shown.approval_id, "superseded"));
  const second = scene.call(2, "write", {});
  const next = (await scene.asked(2)).at(-1)!;
  assert.notEqual(next.approval_id, shown.approval_id);
  await scene.decide(next, "approved");
  assert.equal(code(await second), undefined);
  assert.equal(scene.executed.length, 1);
});

Deno.test("the end of a turn ends its approvals", SAFE, async () => {
  await using scene = await approvalScene();
  const answer = scene.call(1, "write", {});
  const [shown] = await scene.asked(1);
  await scene.cockpit.cancel(scene.turnId);
  assert.equal(code(await answer), "approval-superseded");
  await scene.cockpit.follow(ended(shown!.approval_id, "superseded"));
  assert.equal(scene.executed.length, 0);
});

Deno.test("the arguments that were shown are the ones that are sent", SAFE, async () => {
  await using scene = await approvalScene();
  // Two keys with one name: a lenient server might read the other one.
  void scene.proxy.sendRaw(
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write",' +
      '"arguments":{"to":"evil","to":"good"}}}\n',
  );
  const [shown] = await scene.asked(1);
  assert.deepEqual(shown!.arguments, { to: "good" });
  await scene.decide(shown!, "approved");
  await scene.cockpit.follow(ended(shown!.approval_id, "applied"));
  await scene.proxy.connected(1);
  const answered = scene.call(2, "look", {});
  await answered;
  assert.deepEqual(scene.executed[0].arguments, { to: "good" });
});
