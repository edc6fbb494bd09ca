/**
 * Delivery of turns to an agent, on real sockets: in order, confirmed once, resent after a
 * reconnect, and cancelled.
 *
 * @module
 */

import assert from "node:assert/strict";
import { gatewayTest as test, registerBare } from "tests/support/gateway_fixture.ts";
import { MIA, notice, postTurn, transcript } from "tests/gateway/dial/router_scene.ts";

test("a turn waits for its agent, is sent in order, and is confirmed once", async (running) => {
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

test("a turn that was not confirmed is sent again", async (running) => {
  const { turn_id } = await postTurn(running, "one");
  const first = await registerBare(running.dialUrl, { epoch: "e1" });
  assert.equal((await first.next("turn")).turn_id, turn_id);
  first.connection.terminate();
  const second = await registerBare(running.dialUrl, { epoch: "e1", open_turns: [] });
  assert.equal((await second.next("turn")).turn_id, turn_id);
});

test("an event of a turn confirms that the agent has the turn", async (running) => {
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
