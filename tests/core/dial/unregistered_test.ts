/**
 * Which connections wait for registration and which one is dropped. No client can keep others out.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { createUnregisteredConnections } from "core/dial/unregistered.ts";
import { connectBare, registerBare, startTestGateway } from "tests/support/gateway_fixture.ts";

const {
  unregisteredConnectionsMax: ALL,
  unregisteredPerAddressMax: SHARE,
  unregisteredLoopbackMax: LOOPBACK,
} = DIAL_LIMITS;

/** A waiting room, the list of dropped connections, and a function that adds connections. */
function openRoom() {
  const dropped: string[] = [];
  const room = createUnregisteredConnections(() => {});
  const enter = (peer: string, count = 1, name = peer) =>
    Array.from({ length: count }, (_, n) => room.add(peer, () => dropped.push(`${name}#${n}`)));
  return { room, dropped, enter };
}

const shares = [
  { name: "one IPv4 address", peers: ["10.0.0.1:1", "10.0.0.1:2", "[::ffff:10.0.0.1]:3"], SHARE },
  { name: "one IPv6 /64", peers: ["[2001:db8::1]:1", "[2001:db8::ffff:2]:1"], SHARE },
  { name: "loopback", peers: ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1"], SHARE: LOOPBACK },
];
for (const { name, peers, SHARE: share } of shares) {
  Deno.test(`add() limits ${name} by evicting its oldest`, () => {
    const { room, dropped, enter } = openRoom();
    for (let n = 0; n < share; n++) enter(peers[n % peers.length] ?? "", 1, `${n}`);
    enter("[2001:db8:0:1::1]:1");
    assert.deepEqual(dropped, []);
    enter(peers[0] ?? "");
    enter(peers[1] ?? "");
    assert.deepEqual(dropped, ["0#0", "1#0"]);
    assert.equal(room.size(), share + 1);
  });
}

Deno.test("add() evicts from the address with the most connections", () => {
  const { room, dropped, enter } = openRoom();
  enter("127.0.0.1:1", LOOPBACK, "local");
  enter("10.0.0.1:1", ALL - LOOPBACK, "far");
  enter("10.0.0.2:1");
  enter("[2001:db8::1]:1");
  assert.deepEqual(dropped, ["local#0", "local#1"]);
  assert.equal(room.size(), ALL);
});

Deno.test("the returned function removes a connection once", () => {
  const { room, enter } = openRoom();
  const [first] = enter("10.0.0.1:1", 2);
  first?.();
  first?.();
  assert.equal(room.size(), 1);
});

Deno.test("add() keeps the limits and the new connection", () => {
  fc.assert(fc.property(
    fc.array(fc.record({ host: fc.nat(6), count: fc.integer({ min: 1, max: 200 }) }), {
      maxLength: 12,
    }),
    (waves) => {
      const { room, dropped, enter } = openRoom();
      let came = 0;
      for (const { host, count } of waves) {
        const peer = host === 0 ? "127.0.0.1:1" : `10.0.0.${host}:1`;
        enter(peer, count, `${came}`);
        came += count;
        assert.ok(room.size() <= ALL);
        assert.equal(dropped.length, came - room.size());
        assert.ok(!dropped.includes(`${came - count}#${count - 1}`), "the newcomer stays");
      }
    },
  ));
});

Deno.test({
  name: "idle connections that fill the listener do not keep an agent out",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async () => {
    await using running = await startTestGateway();
    const idle = [];
    for (let n = 0; n < ALL; n++) idle.push(await connectBare(running.dialUrl));
    const agent = await registerBare(running.dialUrl);
    assert.equal((await idle[0]?.closed)?.code, 1006);
    assert.equal(running.gateway.metrics.value("evicted"), ALL - LOOPBACK + 1);
    // A registered agent has left the waiting room, so new connections cannot drop it.
    for (let n = 0; n < 10; n++) idle.push(await connectBare(running.dialUrl));
    agent.send({ type: "agents", id: "1" });
    await agent.next("agents_result");
    for (const client of idle) client.connection.terminate();
    await Promise.all(idle.map((client) => client.closed));
  },
});
