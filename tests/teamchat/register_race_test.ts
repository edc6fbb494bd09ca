/**
 * An owner who is removed while the agent registers: the agent does not stay connected, whichever
 * comes first. 400 races each; `FLEETCTL_ROUNDS` sets another number.
 *
 * @module
 */

import assert from "node:assert/strict";
import { CLOSE } from "core/dial/frames.ts";
import { createSessionRegistry } from "core/dial/sessions.ts";
import type { AgentName, ObjectId } from "core/names.ts";
import { createMetrics } from "teamchat/metrics.ts";
import { serveAgent } from "teamchat/register/connection.ts";
import type { RegistrationPass } from "teamchat/register/check_registration.ts";
import { fakeClock, settle } from "tests/fakes/clock.ts";
import { fakePeer } from "tests/fakes/frame_peer.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { seededRandom } from "tests/fakes/random.ts";
import { eventLoopTurn, interleave, offsets } from "tests/support/interleavings.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "400");
const OWNER = "11111111-1111-4111-8111-111111111111" as ObjectId;
const AGENT = "bea" as AgentName;
const PASSES: Readonly<Record<string, RegistrationPass>> = {
  "its own token": { kind: "agent", agent: AGENT, owner: OWNER, key: "k" },
  "the shared token": { kind: "shared" },
};

for (const [how, pass] of Object.entries(PASSES)) {
  Deno.test(`an agent that registers with ${how} during a removal does not stay`, async () => {
    let left = 0;
    for (const offset of offsets(ROUNDS)) {
      const clock = fakeClock();
      const agents = new Map([[OWNER, AGENT]]);
      const registry = createSessionRegistry(clock);
      const peer = fakePeer();
      serveAgent(peer.connection, { pass, onSettled: () => {} }, {
        agents,
        clock,
        log: recordingLog(),
        random: seededRandom(),
        metrics: createMetrics(),
        version: "1.2.3",
        router: {
          attach: (session) => registry.put(session),
          receive: () => {},
          detach: (session, code) => void registry.remove(session, code),
        },
        // Asynchronous, as for a store on another thread.
        ackedSeq: () => eventLoopTurn().then(() => 0),
      });
      await interleave(offset, async () => {
        peer.say({ type: "register", user_email: "bea@example.org", agent: AGENT });
        await eventLoopTurn();
        await settle();
      }, () => {
        agents.delete(OWNER);
        for (const session of registry.all()) session.end(CLOSE.policyViolation, "owner gone");
      });
      await eventLoopTurn();
      await settle();
      if (registry.all().length > 0) left++;
      peer.leave(1000);
    }
    assert.equal(left, 0, `${left} of ${ROUNDS} stayed connected`);
  });
}
