/**
 * Repeated `kill -9` of the gateway while events arrive: acknowledged events are kept, nothing is
 * stored twice, and confirmed turns are kept. 5 rounds; FLEETCTL_ROUNDS overrides the number.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type BareClient, registerBare } from "tests/support/gateway_fixture.ts";
import { startGatewayProcess } from "tests/support/gateway_process.ts";
import { cockpitReader } from "tests/support/cockpit_reader.ts";

const KILLS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "5");
/** No agent accepts these turns, and the queue is bounded. */
const TURNS_MAX = 60;
const EVENTS_PER_ROUND = 200;

/** The highest number that the gateway has acknowledged. */
function ackedOf(client: BareClient): number {
  const acks = client.frames.filter((frame) => frame.type === "ack").map(({ seq }) => Number(seq));
  const registered = client.frames.find((frame) => frame.type === "registered");
  return Math.max(0, Number(registered?.acked_seq ?? 0), ...acks);
}

Deno.test({
  name: "a killed gateway keeps what it acknowledged, and duplicates nothing",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async () => {
    const root = await Deno.makeTempDir({ prefix: "fc-" });
    try {
      let acked = 0;
      let last = 0;
      const turns: string[] = [];
      for (let round = 0; round < KILLS; round++) {
        const gateway = await startGatewayProcess(root);
        if (round < TURNS_MAX) {
          turns.push(await cockpitReader(() => gateway.cockpit).post("hi", `k${round}`));
        }
        const client = await registerBare(gateway.dial, { epoch: "e1", last_seq: last });
        const resumed = ackedOf(client);
        assert.ok(resumed >= acked, `${resumed} of ${acked} acknowledged events are left`);
        // Start with one event that it already has: a resend must do no harm.
        last = resumed + EVENTS_PER_ROUND;
        for (let seq = Math.max(1, resumed); seq <= last; seq++) {
          const event = { seq, at: 1, kind: "notice", payload: { text: `${seq}` } };
          client.send({ type: "event", event });
        }
        const wanted = round + 1 < KILLS ? resumed + 1 + (round * 37) % EVENTS_PER_ROUND : last;
        while (ackedOf(client) < wanted) await client.next("ack");
        await gateway.kill();
        await client.closed;
        acked = ackedOf(client);
      }
      const gateway = await startGatewayProcess(root);
      const cockpit = cockpitReader(() => gateway.cockpit);
      const events = await cockpit.all();
      const numbers = events.filter(({ kind }) => kind === "notice").map(({ payload }) =>
        Number(payload.text)
      );
      assert.deepEqual(numbers, Array.from({ length: acked }, (_, index) => index + 1));
      const again = await cockpit.post("hi", "k0");
      assert.equal(again, turns[0]);
      assert.equal(new Set(turns).size, turns.length);
      await gateway.kill();
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});
