/**
 * What happens after registration, on real sockets: events in, turns out, heartbeats, the end.
 *
 * @module
 */

import assert from "node:assert/strict";
import { CLOSE } from "core/dial/frames.ts";
import { DIAL_LIMITS, MESSAGE_LIMITS } from "core/limits.ts";
import { FileFault } from "core/ports.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { startChaosProxy } from "tests/support/chaos_proxy.ts";
import { registerBare, startTestGateway, type TestGateway } from "tests/support/gateway_fixture.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;
const MIA = { "x-user-email": "mia@example.org" };
const BOB = { user_email: "bob@example.org", agent: "bob" };

function test(name: string, fn: (running: TestGateway) => Promise<void>): void {
  Deno.test({
    name,
    ...SAFE,
    fn: async () => {
      await using running = await startTestGateway();
      await fn(running);
    },
  });
}

let keys = 0;
async function postTurn(
  running: TestGateway,
  text: string,
  more: { readonly key?: string; readonly headers?: Readonly<Record<string, string>> } = {},
) {
  const response = await fetch(`${running.cockpitUrl}/api/turns`, {
    method: "POST",
    headers: {
      ...MIA,
      "content-type": "application/json",
      "idempotency-key": more.key ?? `key-${keys++}`,
      ...more.headers,
    },
    body: JSON.stringify({ agent: "mia", text }),
  });
  return await response.json() as {
    readonly turn_id: string;
    readonly state: string;
    readonly code?: string;
  };
}

async function transcript(running: TestGateway, agent = "mia") {
  const response = await fetch(`${running.cockpitUrl}/api/transcript?agent=${agent}&limit=500`, {
    headers: { "x-user-email": `${agent}@example.org`, accept: "application/json" },
  });
  const page = await response.json() as {
    readonly events: readonly {
      readonly kind: string;
      readonly turn_id: string | null;
      readonly payload: Readonly<Record<string, unknown>>;
    }[];
  };
  return page.events;
}

const notice = (seq: number, text = `n${seq}`) => ({
  type: "event",
  event: { seq, at: 1, kind: "notice", payload: { text } },
});

test("an event is acknowledged once it is stored, and a resend changes nothing", async (running) => {
  const first = await registerBare(running.dialUrl, { epoch: "e1" });
  first.send(notice(1));
  assert.equal((await first.next("ack")).seq, 1);
  first.connection.terminate();
  const second = await registerBare(running.dialUrl, { epoch: "e1" });
  const registered = second.frames.find((frame) => frame.type === "registered");
  assert.equal(registered?.acked_seq, 1);
  second.send(notice(1));
  second.send(notice(2));
  while ((await second.next("ack")).seq !== 2);
  const texts = (await transcript(running)).map((event) => event.payload.text);
  assert.deepEqual(texts, ["n1", "n2"]);
});

test("events under a turn of another agent are not tied to that turn", async (running) => {
  const mia = await registerBare(running.dialUrl, { epoch: "m" });
  const { turn_id } = await postTurn(running, "one");
  await mia.next("turn");
  const bob = await registerBare(running.dialUrl, { ...BOB, epoch: "b" });
  const say = (seq: number, kind: string, payload: unknown, turn = turn_id) =>
    bob.send({ type: "event", event: { seq, at: 1, kind, turn_id: turn, payload } });
  say(1, "turn_started", {});
  say(2, "message", { message_id: "m", role: "assistant", text: "forged" });
  say(3, "turn_ended", { outcome: "completed" });
  say(4, "message", { message_id: "n", role: "assistant", text: "own" }, "turn-of-an-older-log");
  while ((await bob.next("ack")).seq !== 4);
  const told = (await transcript(running, "bob")).map((event) => [event.kind, event.turn_id]);
  assert.deepEqual(told, [["message", null], ["message", "turn-of-an-older-log"]]);
  assert.deepEqual((await transcript(running)).map(({ kind }) => kind), ["turn_queued"]);
  assert.equal(running.gateway.metrics.value("events", { result: "foreign" }), 3);
  const warned = running.host.log.of("events name a turn of another agent");
  assert.ok(warned.length > 0);
});

test("a gap in the numbers stores nothing behind it and ends the connection", async (running) => {
  const client = await registerBare(running.dialUrl, { epoch: "e1" });
  client.send(notice(1));
  client.send(notice(3));
  assert.deepEqual(await client.closed, { code: CLOSE.policyViolation, reason: "gap" });
  assert.equal((await transcript(running)).length, 1);
});

test("an event of an odd time is stored, and those behind it", async (running) => {
  const client = await registerBare(running.dialUrl, { epoch: "e1" });
  const times = [1.5, 1e308, -1, -1e308, 2];
  for (const [index, at] of times.entries()) {
    client.send({ ...notice(0), event: { ...notice(index + 1).event, at } });
  }
  const state = { state: "idle", since: 1e300 };
  client.send({ type: "event", event: { seq: 6, at: 0.1, kind: "agent_state", payload: state } });
  while ((await client.next("ack")).seq !== 6);
  assert.equal((await transcript(running)).length, 6);
});

test("another epoch counts from one again", async (running) => {
  const first = await registerBare(running.dialUrl, { epoch: "e1" });
  first.send(notice(1, "a"));
  await first.next("ack");
  const second = await registerBare(running.dialUrl, { epoch: "e2" });
  second.send(notice(1, "b"));
  await second.next("ack");
  assert.deepEqual((await transcript(running)).map((event) => event.payload.text), ["a", "b"]);
});

test("a frame of an unknown type is skipped", async (running) => {
  const client = await registerBare(running.dialUrl);
  client.send({ type: "dance" });
  client.send(notice(1));
  await client.next("ack");
  assert.equal(running.gateway.metrics.value("skipped"), 1);
});

for (const text of ["{", '"x"', '{"type":"event","event":{}}', '{"type":"register"}']) {
  test(`garbage after registration ends the connection: ${text}`, async (running) => {
    const client = await registerBare(running.dialUrl);
    client.sendText(text);
    assert.deepEqual(await client.closed, {
      code: CLOSE.policyViolation,
      reason: "invalid frame",
    });
  });
}

test("a frame over the limit ends the connection", async (running) => {
  const client = await registerBare(running.dialUrl);
  client.sendText(" ".repeat(DIAL_LIMITS.frameBytesMax + 1));
  assert.equal((await client.closed).code, CLOSE.tooBig);
});

test("a newer connection of an agent replaces the older one", async (running) => {
  const older = await registerBare(running.dialUrl);
  const newer = await registerBare(running.dialUrl);
  assert.equal((await older.closed).code, CLOSE.replaced);
  await postTurn(running, "hi");
  assert.equal((await newer.next("turn")).text, "hi");
});

test("a connection that answers no ping is dropped after two", async (running) => {
  const proxy = startChaosProxy(running.gateway.dial.port);
  try {
    const url = `ws://127.0.0.1:${proxy.port}`;
    await registerBare(url);
    proxy.stall();
    const beats = () => running.host.clock.advance(DIAL_LIMITS.heartbeatSeconds * 1000);
    await beats();
    await beats();
    assert.equal(running.host.log.of("agent disconnected").length, 0);
    await beats();
    const gone = await running.host.log.next("agent disconnected");
    assert.equal(gone.fields.code, 1006);
  } finally {
    await proxy.close();
  }
});

test("a connection that answers its pings stays", async (running) => {
  const client = await registerBare(running.dialUrl, { epoch: "e1" });
  let pings = 0;
  const { promise: seen, resolve } = Promise.withResolvers<void>();
  client.connection.onAlive(() => ++pings === 5 && resolve());
  for (let beat = 0; beat < 5; beat++) {
    const before = pings;
    await running.host.clock.advance(DIAL_LIMITS.heartbeatSeconds * 1000);
    while (pings === before) await new Promise((done) => setTimeout(done, 0));
    client.send(notice(beat + 1));
    await client.next("ack");
  }
  await seen;
  assert.equal(running.host.log.of("agent disconnected").length, 0);
});

test("a turn waits for its agent, is handed out in order, and is confirmed once", async (running) => {
  const first = await postTurn(running, "one");
  assert.equal(first.state, "queued");
  await postTurn(running, "two");
  const client = await registerBare(running.dialUrl, { epoch: "e1", open_turns: [] });
  assert.equal((await client.next("turn")).text, "one");
  client.send({ type: "turn_accepted", turn_id: first.turn_id });
  client.send({ type: "turn_accepted", turn_id: first.turn_id });
  assert.equal((await client.next("turn")).text, "two");
  const kinds = (await transcript(running)).map((event) => event.kind);
  assert.deepEqual(kinds, ["turn_queued", "turn_queued", "turn_delivered"]);
});

test("a turn that was not confirmed is handed out again", async (running) => {
  const { turn_id } = await postTurn(running, "one");
  const first = await registerBare(running.dialUrl, { epoch: "e1" });
  assert.equal((await first.next("turn")).turn_id, turn_id);
  first.connection.terminate();
  const second = await registerBare(running.dialUrl, { epoch: "e1", open_turns: [] });
  assert.equal((await second.next("turn")).turn_id, turn_id);
});

test("work on a turn proves that the agent has it", async (running) => {
  const { turn_id } = await postTurn(running, "one");
  const client = await registerBare(running.dialUrl, { epoch: "e1" });
  await client.next("turn");
  client.send({
    type: "event",
    event: { seq: 1, at: 1, turn_id, kind: "turn_started", payload: {} },
  });
  client.send({
    type: "event",
    event: { seq: 2, at: 1, turn_id, kind: "turn_ended", payload: { outcome: "completed" } },
  });
  client.send({
    type: "event",
    event: { seq: 3, at: 1, turn_id, kind: "turn_ended", payload: { outcome: "failed" } },
  });
  while ((await client.next("ack")).seq !== 3);
  const kinds = (await transcript(running)).map((event) => event.kind);
  assert.deepEqual(kinds, ["turn_queued", "turn_delivered", "turn_started", "turn_ended"]);
});

test("a turn that its agent has lost ends with the reason", async (running) => {
  const { turn_id } = await postTurn(running, "one");
  const first = await registerBare(running.dialUrl, { epoch: "e1", open_turns: [] });
  await first.next("turn");
  first.send({ type: "turn_accepted", turn_id });
  first.send(notice(1));
  await first.next("ack");
  first.connection.terminate();
  const second = await registerBare(running.dialUrl, { epoch: "e2", open_turns: [] });
  second.send(notice(1));
  await second.next("ack");
  const ended = (await transcript(running)).find((event) => event.kind === "turn_ended");
  assert.equal(ended?.turn_id, turn_id);
  assert.equal(ended?.payload.code, "agent-state-lost");
});

test("a cancel reaches the agent, now and after a reconnect", async (running) => {
  const { turn_id } = await postTurn(running, "one");
  const first = await registerBare(running.dialUrl, { epoch: "e1" });
  await first.next("turn");
  first.send({ type: "turn_accepted", turn_id });
  const response = await fetch(`${running.cockpitUrl}/api/turns/cancel`, {
    method: "POST",
    headers: { ...MIA, "content-type": "application/json" },
    body: JSON.stringify({ agent: "mia", turn_id }),
  });
  assert.equal(response.status, 202);
  await response.body?.cancel();
  assert.equal((await first.next("cancel")).turn_id, turn_id);
  first.connection.terminate();
  const second = await registerBare(running.dialUrl, { epoch: "e1", open_turns: [turn_id] });
  assert.equal((await second.next("cancel")).turn_id, turn_id);
});

test("a message becomes a turn of the other agent, once", async (running) => {
  const mia = await registerBare(running.dialUrl);
  const bob = await registerBare(running.dialUrl, BOB);
  const message = { type: "message", id: "m1", to: "bob", text: "hello bob" };
  mia.send(message);
  assert.deepEqual(await mia.next("message_result"), {
    type: "message_result",
    id: "m1",
    ok: true,
  });
  mia.send(message);
  await mia.next("message_result");
  const turn = await bob.next("turn");
  assert.equal(turn.origin, "agent:mia");
  assert.equal(turn.text, "hello bob");
  const kinds = (await transcript(running, "bob")).map((event) => event.kind);
  assert.deepEqual(kinds, ["turn_queued"]);
  mia.send({ type: "agents", id: "q1" });
  assert.deepEqual((await mia.next("agents_result")).names, ["ada", "bob"]);
});

const refusedMessages = [
  { to: "nobody", text: "x", code: "receiver-unknown" },
  { to: "mia", text: "x", code: "receiver-unknown" },
  { to: "bob", text: " ", code: "message-empty" },
  { to: "bob", text: "x".repeat(MESSAGE_LIMITS.textBytesMax + 1), code: "message-too-long" },
];
for (const { to, text, code } of refusedMessages) {
  test(`a message is refused with ${code} (to ${to}, ${text.length} bytes)`, async (running) => {
    const mia = await registerBare(running.dialUrl);
    mia.send({ type: "message", id: "m1", to, text });
    const result = await mia.next("message_result");
    assert.equal(result.ok, false);
    assert.equal(result.code, code);
  });
}

test("messages are bounded in pace", async (running) => {
  const mia = await registerBare(running.dialUrl);
  for (let n = 0; n <= MESSAGE_LIMITS.perMinuteMax; n++) {
    mia.send({ type: "message", id: `m${n}`, to: "bob", text: `${n}` });
  }
  const results = [];
  for (let n = 0; n <= MESSAGE_LIMITS.perMinuteMax; n++) {
    results.push((await mia.next("message_result")).code ?? "ok");
  }
  assert.deepEqual(results.filter((code) => code !== "ok"), ["message-rate"]);
  await running.host.clock.advance(60_000);
  mia.send({ type: "message", id: "later", to: "bob", text: "later" });
  assert.equal((await mia.next("message_result")).ok, true);
});

test("two agents that answer each other are stopped after some hops", async (running) => {
  const clients = {
    mia: await registerBare(running.dialUrl, { epoch: "m" }),
    bob: await registerBare(running.dialUrl, { ...BOB, epoch: "b" }),
  };
  const seqs = { mia: 0, bob: 0 };
  let from: "mia" | "bob" = "mia";
  let code: unknown;
  for (let hop = 1; code === undefined; hop++) {
    assert.ok(hop <= MESSAGE_LIMITS.hopsMax + 1, "the loop goes on");
    const to: "mia" | "bob" = from === "mia" ? "bob" : "mia";
    clients[from].send({ type: "message", id: `h${hop}`, to, text: "thanks" });
    const result = await clients[from].next("message_result");
    if (result.ok !== true) {
      code = result.code;
      break;
    }
    const { turn_id } = await clients[to].next("turn");
    const seq = ++seqs[to];
    clients[to].send({
      type: "event",
      event: { seq, at: 1, turn_id, kind: "turn_started", payload: {} },
    });
    while ((await clients[to].next("ack")).seq !== seq);
    from = to;
  }
  assert.equal(code, "message-loop");
});

test("a planned end tells each agent when to come back", async (running) => {
  const client = await registerBare(running.dialUrl);
  await running.gateway.close("upgrade");
  const closing = await client.next("closing");
  assert.equal(closing.reason, "upgrade");
  const wait = Number(closing.retry_after_ms);
  assert.ok(wait >= 0 && wait <= DIAL_LIMITS.returnSpreadMs);
  assert.equal((await client.closed).code, CLOSE.goingAway);
});

Deno.test({
  name: "a full disk leaves events unacknowledged and says so to the page",
  ...SAFE,
  fn: async () => {
    const host = memoryHost();
    let isFull = false;
    const databases = {
      open: async (path: string) => {
        const db = await host.databases.open(path);
        return {
          ...db,
          transaction: <T>(work: () => T): T => {
            if (isFull) throw new FileFault("ENOSPC", path, "no space left on the disk");
            return db.transaction(work);
          },
        };
      },
    };
    await using running = await startTestGateway({ host: { ...host, databases } });
    const client = await registerBare(running.dialUrl, { epoch: "e1" });
    isFull = true;
    client.send(notice(1));
    assert.deepEqual(await client.closed, { code: CLOSE.tryAgainLater, reason: "storage" });
    assert.equal(client.frames.filter((frame) => frame.type === "ack").length, 0);
    assert.equal((await postTurn(running, "hi")).code, "storage-full");
    isFull = false;
    const again = await registerBare(running.dialUrl, { epoch: "e1" });
    again.send(notice(1));
    assert.equal((await again.next("ack")).seq, 1);
    assert.equal((await transcript(running)).length, 1);
  },
});
