/**
 * Events of an agent, on real sockets: stored in order and once, acknowledged after they are
 * stored, and kept apart from another agent's events.
 *
 * @module
 */

import assert from "node:assert/strict";
import { CLOSE } from "core/dial/frames.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { gatewayTest as test, registerBare } from "tests/support/gateway_fixture.ts";
import { faultyDisk } from "tests/fakes/disk_faults.ts";
import { BOB, notice, postTurn, transcript } from "tests/gateway/dial/router_scene.ts";

test("an event is acknowledged when it is stored; a resend changes nothing", async (running) => {
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
  const stored = (await transcript(running, "bob")).map((event) => [event.kind, event.turn_id]);
  assert.deepEqual(stored, [["message", null], ["message", "turn-of-an-older-log"]]);
  assert.deepEqual((await transcript(running)).map(({ kind }) => kind), ["turn_queued"]);
  assert.equal(running.gateway.metrics.value("events", { result: "foreign" }), 3);
  const warned = running.host.log.of("events name a turn of another agent");
  assert.ok(warned.length > 0);
});

test("a gap in the numbers ends the connection; nothing after it is stored", async (running) => {
  const client = await registerBare(running.dialUrl, { epoch: "e1" });
  client.send(notice(1));
  client.send(notice(3));
  assert.deepEqual(await client.closed, { code: CLOSE.policyViolation, reason: "gap" });
  assert.equal((await transcript(running)).length, 1);
});

test("an event with an implausible time is stored, like those after it", async (running) => {
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

test("a new epoch numbers its events from 1", async (running) => {
  const first = await registerBare(running.dialUrl, { epoch: "e1" });
  first.send(notice(1, "a"));
  await first.next("ack");
  const second = await registerBare(running.dialUrl, { epoch: "e2" });
  second.send(notice(1, "b"));
  await second.next("ack");
  assert.deepEqual((await transcript(running)).map((event) => event.payload.text), ["a", "b"]);
});

const host = memoryHost();
const disk = faultyDisk(host.databases);

test("on a full disk events are not acknowledged, and new turns are refused", async (running) => {
  const client = await registerBare(running.dialUrl, { epoch: "e1" });
  disk.fill(true);
  client.send(notice(1));
  assert.deepEqual(await client.closed, { code: CLOSE.tryAgainLater, reason: "storage" });
  assert.equal(client.frames.filter((frame) => frame.type === "ack").length, 0);
  assert.equal((await postTurn(running, "hi")).code, "storage-full");
  disk.fill(false);
  const again = await registerBare(running.dialUrl, { epoch: "e1" });
  again.send(notice(1));
  assert.equal((await again.next("ack")).seq, 1);
  assert.equal((await transcript(running)).length, 1);
}, { host: { ...host, databases: disk.databases } });
