/**
 * A connection after registration, on real sockets: unknown and broken frames, replacement by a
 * newer connection, heartbeats, the end.
 *
 * @module
 */

import assert from "node:assert/strict";
import { CLOSE } from "core/dial/frames.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { startChaosProxy } from "tests/support/chaos_proxy.ts";
import { gatewayTest as test, registerBare } from "tests/support/gateway_fixture.ts";
import { notice, postTurn } from "tests/gateway/dial/router_scene.ts";

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

test("a planned end sends each agent the time to reconnect", async (running) => {
  const client = await registerBare(running.dialUrl);
  await running.gateway.close("upgrade");
  const closing = await client.next("closing");
  assert.equal(closing.reason, "upgrade");
  const wait = Number(closing.retry_after_ms);
  assert.ok(wait >= 0 && wait <= DIAL_LIMITS.returnSpreadMs);
  assert.equal((await client.closed).code, CLOSE.goingAway);
});
