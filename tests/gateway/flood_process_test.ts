/**
 * An agent that floods a gateway process: the gateway reads from it at its rate limit and loses
 * nothing, while another agent's answers still arrive. An agent that has used up its share of the
 * disk keeps its events until there is room.
 *
 * @module
 */

import assert from "node:assert/strict";
import { expireEvents } from "cli/gc/events.ts";
import { AGENT_STORAGE_FULL, CLOSE } from "core/dial/frames.ts";
import { EVENT_LIMITS } from "core/limits/event.ts";
import { openHost } from "core/os/host.ts";
import { pathsUnder } from "core/paths.ts";
import { type BareClient, registerBare } from "tests/support/gateway_fixture.ts";
import { startGatewayProcess } from "tests/support/gateway_process.ts";

const WORDS = "x".repeat(256 * 1024);
const BURST = Math.floor(EVENT_LIMITS.bytesBurst / WORDS.length);
/** Amount beyond the burst, in seconds at the rate limit. */
const MORE_SECONDS = 12;
const AT_ONCE = 32;
const LEDGER = { "mia@example.org": "mia", "bob@example.org": "bob" };
const BOB = { agent: "bob", user_email: "bob@example.org", epoch: "b1" };

function say(client: BareClient, seq: number, text: string): void {
  const at = text === WORDS ? 1 : Date.now();
  client.send({ type: "event", event: { seq, at, kind: "notice", payload: { text } } });
}

async function acked(client: BareClient, seq: number): Promise<void> {
  while (Number((await client.next("ack")).seq) < seq);
}

Deno.test({
  name: "an agent that floods is read more slowly and loses nothing; another is served meanwhile",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async () => {
    const root = await Deno.makeTempDir({ prefix: "fc-" });
    const gateway = await startGatewayProcess(root, { WEBVIEW_LEDGER: JSON.stringify(LEDGER) });
    try {
      const mia = await registerBare(gateway.dial, { epoch: "m1" });
      const bob = await registerBare(gateway.dial, BOB);
      let seq = 0;
      const began = performance.now();
      while (seq < BURST) {
        const end = Math.min(BURST, seq + AT_ONCE);
        while (seq < end) say(mia, ++seq, WORDS);
        await acked(mia, seq);
      }
      // The bucket refilled while the burst was sent, which takes longer on a busy machine.
      const seconds = MORE_SECONDS + (performance.now() - began) / 1000;
      const count = Math.ceil(seconds * EVENT_LIMITS.bytesPerSecond / WORDS.length);
      // Sent all at once, ignoring the window.
      for (let more = 0; more < count; more++) say(mia, ++seq, WORDS);
      let hasWaited = false;
      const all = acked(mia, seq);
      for (let place = 1; place <= 100; place++) {
        say(bob, place, "an answer");
        await acked(bob, place);
        hasWaited ||= mia.connection.bufferedBytes() > 0;
      }
      assert.ok(hasWaited, "the flood waits where it was made");
      await all;
      assert.match(gateway.log(), /exceeds its event rate; reading is slowed/);
      const again = await registerBare(gateway.dial, { epoch: "m1" });
      const registered = again.frames.find(({ type }) => type === "registered");
      assert.equal(registered?.acked_seq, seq);
      for (const client of [again, bob]) {
        client.connection.close(1000, "over");
        await client.closed;
      }
      await mia.closed;
    } finally {
      await gateway.kill();
      await Deno.remove(root, { recursive: true });
    }
  },
});

Deno.test({
  name: "an agent at its limit keeps its events and continues after gc; others do not wait",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async () => {
    const root = await Deno.makeTempDir({ prefix: "fc-" });
    const gateway = await startGatewayProcess(root, {
      WEBVIEW_LEDGER: JSON.stringify(LEDGER),
      WEBVIEW_AGENT_STORAGE_MIB: String(EVENT_LIMITS.agentMibMin),
    });
    try {
      const mia = await registerBare(gateway.dial, { epoch: "m1" });
      const bob = await registerBare(gateway.dial, BOB);
      const last = EVENT_LIMITS.agentMibMin * 1024 * 1024 / WORDS.length;
      for (let seq = 1; seq <= last; seq++) {
        say(mia, seq, WORDS);
        await acked(mia, seq);
      }
      say(mia, last + 1, "one more");
      assert.deepEqual(await mia.closed, { code: CLOSE.tryAgainLater, reason: AGENT_STORAGE_FULL });
      assert.ok(!mia.frames.some(({ seq }) => seq === last + 1), "it was not acknowledged");
      assert.match(gateway.log(), /"agent-storage-full".*fleetctl gc --events/);
      say(bob, 1, "an answer");
      await acked(bob, 1);
      const { files, databases } = openHost({ log: { program: "test" } });
      const path = `${pathsUnder(root).role("gateway")}/gateway.db`;
      // All events of mia have the earliest possible timestamp; bob's event is recent.
      const options = { beforeMs: 2, nowMs: Date.now(), isDryRun: false };
      const gone = await expireEvents({ files, databases }, path, options);
      assert.ok(gone.count >= last);
      const again = await registerBare(gateway.dial, { epoch: "m1" });
      assert.equal(again.frames.find(({ type }) => type === "registered")?.acked_seq, last);
      say(again, last + 1, "one more");
      await acked(again, last + 1);
      for (const client of [again, bob]) {
        client.connection.close(1000, "over");
        await client.closed;
      }
    } finally {
      await gateway.kill();
      await Deno.remove(root, { recursive: true });
    }
  },
});
