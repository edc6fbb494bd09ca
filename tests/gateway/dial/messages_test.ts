/**
 * Messages from agent to agent, on real sockets: each becomes a turn once, with limits on size,
 * rate and hops.
 *
 * @module
 */

import assert from "node:assert/strict";
import { MESSAGE_LIMITS } from "core/limits/message.ts";
import { gatewayTest as test, registerBare } from "tests/support/gateway_fixture.ts";
import { BOB, transcript } from "tests/gateway/dial/router_scene.ts";

test("a message becomes one turn of the other agent", async (running) => {
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

test("the rate of messages is limited", async (running) => {
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
    assert.ok(hop <= MESSAGE_LIMITS.hopsMax + 1, "the loop continues");
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
