/**
 * A key that is revoked while its agent registers: the agent does not stay connected, whichever
 * comes first. 400 races; `FLEETCTL_ROUNDS` sets another number.
 *
 * @module
 */

import assert from "node:assert/strict";
import { watchKeys } from "core/dial/key_watch.ts";
import { serveSession } from "core/dial/serve_session.ts";
import { createSessionRegistry } from "core/dial/sessions.ts";
import { createMetricSet } from "core/metrics.ts";
import { DIAL_COUNTERS, DIAL_GAUGES } from "core/dial/counts.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { fakeClock, settle } from "tests/fakes/clock.ts";
import { fakePeer } from "tests/fakes/frame_peer.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { seededRandom } from "tests/fakes/random.ts";
import { eventLoopTurn, interleave, offsets } from "tests/support/interleavings.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "400");

Deno.test("an agent that registers while its key is revoked does not stay", async () => {
  let left = 0;
  for (const offset of offsets(ROUNDS)) {
    const clock = fakeClock();
    const log = recordingLog();
    const registry = createSessionRegistry(clock);
    const peer = fakePeer();
    let enrolled: readonly string[] = ["k"];
    let generation = 1;
    // Asynchronous, as for a file that is read on another thread.
    const keys = {
      enrolled: () => eventLoopTurn().then(() => enrolled),
      generation: () => eventLoopTurn().then(() => generation),
    };
    const stop = watchKeys({ keys, registry, clock, log });
    serveSession(peer.connection, {
      nonce: undefined,
      admit: async () =>
        (await keys.enrolled()).includes("k")
          ? { accept: true, agent: "bea", provenKey: "k" }
          : { accept: false, reason: "key-not-enrolled" },
      onAccepted: () => {},
      onRejected: () => {},
      onSettled: () => {},
    }, {
      router: {
        attach: (session) => registry.put(session),
        receive: () => {},
        detach: (session, code) => void registry.remove(session, code),
      },
      ackedSeq: () => eventLoopTurn().then(() => 0),
      metrics: createMetricSet("t", { counters: DIAL_COUNTERS, gauges: DIAL_GAUGES }),
      clock,
      log,
      random: seededRandom(),
      version: "1.2.3",
    });
    const look = async () => {
      await clock.advance(DIAL_LIMITS.keyFilePollMs);
      for (let turn = 0; turn < 4; turn++) await eventLoopTurn();
      await settle();
    };
    await interleave(offset, async () => {
      peer.say({ type: "register", user_email: "bea@example.org", agent: "bea" });
      await look();
    }, () => {
      enrolled = [];
      generation++;
    });
    await look();
    if (registry.all().length > 0) left++;
    stop();
    peer.leave(1000);
  }
  assert.equal(left, 0, `${left} of ${ROUNDS} stayed connected`);
});
