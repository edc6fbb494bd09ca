/**
 * Every sequence of faults and kills, up to five requests deep: the answer is in the conversation
 * once. The platform is the kit's conversation, the delivery is the gateway's code, and the disk is
 * what `keep` stored before the kill.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Clock } from "core/ports/clock.ts";
import { LINE } from "teamchat/reply/activities.ts";
import type { Connector } from "teamchat/reply/connector.ts";
import { deliverAnswer } from "teamchat/reply/deliver.ts";
import { parseOutcome } from "teamchat/reply/outcome.ts";
import type { DeliveryProgress, Turn } from "teamchat/store/turn.ts";
import { KIT_RULES, KitConversation } from "tests/teamchat/connector/conversation.ts";

/** What happens to one request. */
const FAULTS = [
  "none",
  "429",
  "504 before",
  "504 after",
  "killed before",
  "killed after",
  "killed while storing",
] as const;
type Fault = typeof FAULTS[number];

class Killed extends Error {}

interface World {
  readonly room: KitConversation;
  readonly faults: Fault[];
  progress: DeliveryProgress;
  now: number;
  isKillArmed: boolean;
}

const FRESH: DeliveryProgress = {
  stream: undefined,
  streamAt: undefined,
  partsSent: 0,
  cuts: [],
  held: undefined,
  isSending: false,
  ids: [],
};

/** A clock of the test's world; sleeping advances it at once. */
function clockOf(world: World): Clock {
  return {
    now: () => world.now,
    monotonic: () => world.now,
    sleep: (ms: number) => {
      world.now += ms;
      return Promise.resolve();
    },
    after: () => () => {},
  } as unknown as Clock;
}

function connectorOf(world: World): Connector {
  return {
    call: ({ method, activity, body }) => {
      const fault = world.faults.shift() ?? "none";
      world.now += 2_000;
      const answer = (status: number) => ({ status, retryAfter: "1", body: "{}" });
      if (fault === "killed before") return Promise.reject(new Killed());
      if (fault === "429") return Promise.resolve(parseOutcome(answer(429), world.now));
      if (fault === "504 before") return Promise.resolve(parseOutcome(answer(504), world.now));
      const done = method === "PUT"
        ? world.room.put(activity ?? "", { ...body }, 100, world.now)
        : world.room.post({ ...body }, 100, world.now);
      if (fault === "killed after") return Promise.reject(new Killed());
      world.isKillArmed = fault === "killed while storing";
      if (fault === "504 after") return Promise.resolve(parseOutcome(answer(504), world.now));
      const { status, body: sent } = done;
      const text = JSON.stringify(sent);
      return Promise.resolve(parseOutcome({ status, retryAfter: null, body: text }, world.now));
    },
  };
}

/** Runs one process; returns the outcome of the answer, or "killed". */
async function runProcess(world: World, text: string): Promise<string> {
  const type = "personal";
  const turn = {
    turnId: "t",
    context: { conversation: "a:x", type, bot: { id: "b" }, user: { id: "u" } },
    progress: world.progress,
  } as unknown as Turn;
  try {
    const delivered = await deliverAnswer({
      turn,
      text,
      mode: "silent",
      connector: connectorOf(world),
      clock: clockOf(world),
      keep: (progress) => {
        if (world.isKillArmed) return Promise.reject(new Killed());
        world.progress = { ...world.progress, ...progress };
        return Promise.resolve();
      },
      signal: new AbortController().signal,
    });
    if (delivered === "stopping") return delivered;
    // The progress is stored together with the outcome, in one write.
    if (world.isKillArmed) throw new Killed();
    world.progress = { ...world.progress, ...delivered.progress };
    return delivered.outcome;
  } catch (thrown) {
    if (!(thrown instanceof Killed)) throw thrown;
    world.isKillArmed = false;
    return "killed";
  }
}

/** Yields all sequences of `depth` faults. */
function* runs(depth: number): Generator<Fault[]> {
  if (depth === 0) yield [];
  else for (const rest of runs(depth - 1)) for (const fault of FAULTS) yield [fault, ...rest];
}

/** Starts with a stream that an earlier process opened, or with nothing. */
function worldOf(faults: Fault[], hasStream: boolean): World {
  const room = new KitConversation("personal", KIT_RULES);
  const progress = hasStream ? { ...FRESH, stream: "s1", streamAt: 0 } : FRESH;
  if (hasStream) {
    const entities = [{ type: "streaminfo", streamType: "informative", streamSequence: 1 }];
    room.post({ type: "typing", text: "Working…", entities }, 10, 0);
  }
  return { room, faults, progress, now: 0, isKillArmed: false };
}

const SHORT = ["an answer"];
const LONG = ["a".repeat(3_900), "b".repeat(3_900)];
for (
  const [name, parts, hasStream, depth] of [
    ["without a stream", SHORT, false, 5],
    ["with a stream", SHORT, true, 5],
    ["in two messages", LONG, false, 4],
    ["in two messages, with a stream", LONG, true, 4],
  ] as const
) {
  Deno.test(`each run of faults and kills delivers the answer exactly once: ${name}`, async () => {
    let rounds = 0;
    for (const faults of runs(depth)) {
      const world = worldOf([...faults], hasStream);
      let outcome = "killed";
      while (outcome === "killed") outcome = await runProcess(world, parts.join("\n\n"));
      const read = world.room.messages.map(({ text }) => text).filter((text) => text !== LINE);
      const note = `${faults.join(", ")}: ${outcome}`;
      // After four unconfirmed placeholder lines, no part of the answer was sent, and the agent is
      // notified.
      const isGivenUp = faults.filter((fault) => fault.startsWith("504")).length >= 4;
      if (isGivenUp && outcome === "failed") assert.deepEqual(read, [], note);
      else {
        assert.equal(outcome, "delivered", note);
        assert.deepEqual(read, parts, note);
      }
      assert.deepEqual(world.room.violations, [], note);
      rounds++;
    }
    assert.equal(rounds, FAULTS.length ** depth);
  });
}
