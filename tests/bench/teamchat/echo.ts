/**
 * The second part of the team-chat bench: every message is answered with its own text in one
 * message, and a conversation waits for its answer. The peer does this in its own process with one
 * request. Fleetctl's gateway sends the turn to an agent over a WebSocket, stores each step, and
 * shows a line of progress that the answer then replaces: two requests.
 *
 * @module
 */

import { cpuMicros } from "tests/bench/login/load.ts";
import { connectAgents } from "tests/bench/teamchat/agents.ts";
import {
  closeConnections,
  conversationOf,
  ownerOf,
  ownersOf,
  post,
  requestOf,
  tokenOf,
} from "tests/bench/teamchat/requests.ts";
import { PEER, PEER_NODES, type Round, tellRounds } from "tests/bench/teamchat/rounds.ts";
import { installLoad } from "tests/bench/teamchat/load.ts";
import { startOwn, startSdk, type Subject } from "tests/teamchat/sdks/subjects.ts";
import type { World } from "tests/teamchat/sdks/world.ts";

const ROUNDS = 3;
/**
 * Concurrent conversations: enough that the platform's rate limit for one, which fleetctl respects,
 * does not bind.
 */
const CONVERSATIONS = 400;
const WARM_UP_MS = 5_000;
const COUNTED_MS = 10_000;
/** After this time an answer is neither awaited nor counted. */
const LATE_MS = 10_000;

/** Prints the table; each round starts new processes. */
export async function echoing(world: World): Promise<void> {
  await installLoad();
  const token = await tokenOf(world);
  const rounds = new Map<string, Round[]>();
  const note = (name: string, round: Round) =>
    rounds.set(name, [...(rounds.get(name) ?? []), round]);
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, node } of PEER_NODES) {
      const peer = await startSdk(PEER, world, { isEcho: true, node });
      note(name, await echoes(world, peer, token));
      await peer.stop();
    }
    const own = await startOwn(world, ownersOf(CONVERSATIONS));
    const agents = await connectAgents(own, CONVERSATIONS, ownerOf);
    note("fleetctl-teamchat, WebSocket agents", await echoes(world, own, token));
    agents.close();
    await own.stop();
  }
  tellRounds("echo", "echoes", rounds);
}

async function echoes(world: World, subject: Subject, token: string): Promise<Round> {
  const waiting = new Map<string, () => void>();
  world.onMessage = (conversation) => waiting.get(conversation)?.();
  let isOver = false;
  let count = 0;
  const talk = async (n: number) => {
    const conversation = conversationOf(n);
    while (!isOver) {
      const answered = Promise.withResolvers<"answered">();
      waiting.set(conversation, () => answered.resolve("answered"));
      await post(subject, requestOf(world, { n, token }));
      const late = Promise.withResolvers<"late">();
      const timer = setTimeout(() => late.resolve("late"), LATE_MS);
      if (await Promise.race([answered.promise, late.promise]) === "answered") count++;
      clearTimeout(timer);
    }
  };
  const talks = Array.from({ length: CONVERSATIONS }, (_, n) => talk(n));
  await new Promise((resolve) => setTimeout(resolve, WARM_UP_MS));
  const before = { count, cpu: cpuMicros([subject.pid]), at: performance.now() };
  await new Promise((resolve) => setTimeout(resolve, COUNTED_MS));
  const seconds = (performance.now() - before.at) / 1000;
  const answered = count - before.count;
  const cpu = (cpuMicros([subject.pid]) - before.cpu) / answered;
  isOver = true;
  await Promise.all(talks);
  closeConnections();
  return { rate: answered / seconds, cpu };
}
