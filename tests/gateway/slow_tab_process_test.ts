/**
 * Tabs that do not read while an agent sends 100,000 events: the gateway's memory, measured from
 * outside, stays within its bound, and all other clients are served.
 *
 * @module
 */

import assert from "node:assert/strict";
import { STREAM_LIMITS } from "gateway/limits.ts";
import { cockpitReader } from "tests/support/cockpit_reader.ts";
import { registerBare } from "tests/support/gateway_fixture.ts";
import { startGatewayProcess } from "tests/support/gateway_process.ts";

const EVENTS = 100_000;
const TABS = 16;
const TEXT = "word ".repeat(80);
/**
 * Allowance for the process besides the buffers: the database's cache and uncollected garbage. If
 * all events were buffered, they would take 16 × 50 MB.
 */
const OTHER_BYTES_MAX = 256 * 1024 * 1024;

/** Opens a stream and never reads it. */
async function openSlowTab(cockpit: string): Promise<Deno.TcpConn> {
  const { hostname, port } = new URL(cockpit);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const request = [
    "GET /events?topics=transcript:mia HTTP/1.1",
    "Host: localhost",
    "X-User-Email: mia@example.org",
    "",
    "",
  ].join("\r\n");
  await connection.write(new TextEncoder().encode(request));
  // The response head shows that the stream is open; nothing after it is read.
  await connection.read(new Uint8Array(64));
  return connection;
}

Deno.test({
  name: `${TABS} tabs that do not read 100,000 events never grow the gateway past its bound`,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const root = await Deno.makeTempDir({ prefix: "fc-" });
    const gateway = await startGatewayProcess(root);
    const tabs: Deno.TcpConn[] = [];
    try {
      const agent = await registerBare(gateway.dial, { epoch: "e1" });
      for (let tab = 0; tab < TABS; tab++) tabs.push(await openSlowTab(gateway.cockpit));
      const before = await gateway.memory();
      let most = 0;
      let acked = 0;
      for (let seq = 1; seq <= EVENTS; seq++) {
        const event = { seq, at: 1, kind: "notice", payload: { text: `${seq} ${TEXT}` } };
        agent.send({ type: "event", event });
        if (seq % 200 !== 0) continue;
        while (acked < seq) acked = Math.max(acked, Number((await agent.next("ack")).seq));
        if (seq % 5_000 === 0) most = Math.max(most, await gateway.memory());
      }
      const bound = TABS * STREAM_LIMITS.clientBufferBytesMax + OTHER_BYTES_MAX;
      const more = most - before;
      assert.ok(more <= bound, `${Math.round(more / 1e6)} MB more, at most ${bound / 1e6}`);
      const newest = await cockpitReader(() => gateway.cockpit).newest();
      assert.match(String(newest.payload.text), new RegExp(`^${EVENTS} `));
      agent.connection.close(1000, "over");
      await agent.closed;
    } finally {
      for (const tab of tabs) tab.close();
      await gateway.kill();
      await Deno.remove(root, { recursive: true });
    }
  },
});
