/**
 * The third part of the team-chat bench: a steady number of turns per second. Measures when each is
 * acknowledged and when its answer reaches the platform. The peer answers from its own process and
 * stores nothing.
 *
 * @module
 */

import { cpuMicros } from "tests/bench/login/load.ts";
import { quantile } from "tests/bench/measure.ts";
import { connectAgents } from "tests/bench/teamchat/agents.ts";
import {
  closeConnections,
  ownerOf,
  ownersOf,
  post,
  requestOf,
  tokenOf,
} from "tests/bench/teamchat/requests.ts";
import { PEER, PEER_NODES } from "tests/bench/teamchat/rounds.ts";
import { installLoad } from "tests/bench/teamchat/load.ts";
import { startOwn, startSdk, type Subject } from "tests/teamchat/sdks/subjects.ts";
import type { World } from "tests/teamchat/sdks/world.ts";

const PER_SECOND = 200;
const SECONDS = 15;
const AGENTS = 600;
/** How long to wait for the last answers. */
const LATE_MS = 10_000;

/** Prints the table. */
export async function relaying(world: World): Promise<void> {
  await installLoad();
  const token = await tokenOf(world);
  console.log(
    `| ${PER_SECOND} turns/s | answered | ack ms p50 / p99 | message to answer ms p50 / p99 | ` +
      "processor µs | disk alone, ms p50 / p99 |\n|---|---|---|---|---|---|",
  );
  for (const { name, node } of PEER_NODES) {
    const peer = await startSdk(PEER, world, { isEcho: true, node });
    await relay(world, { ...peer, name }, token);
    await peer.stop();
  }
  const own = await startOwn(world, ownersOf(AGENTS));
  const agents = await connectAgents(own, AGENTS, ownerOf);
  await relay(world, own, token);
  agents.close();
  await own.stop();
}

async function relay(world: World, subject: Subject, token: string): Promise<void> {
  const begun = new Map<string, number>();
  const acks: number[] = [];
  const answers: number[] = [];
  world.onMessage = (_conversation, text) => {
    const at = begun.get(text);
    if (at !== undefined) answers.push(performance.now() - at);
  };
  const total = PER_SECOND * SECONDS;
  const disk = probeDisk();
  const first = performance.now();
  const before = cpuMicros([subject.pid]);
  const posts: Promise<void>[] = [];
  for (let turn = 0; turn < total; turn++) {
    const wait = first + turn * 1000 / PER_SECOND - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    const text = `turn ${turn}`;
    const request = requestOf(world, { n: turn % AGENTS, token, text });
    const at = performance.now();
    begun.set(text, at);
    posts.push(post(subject, request).then(() => void acks.push(performance.now() - at)));
  }
  await Promise.all(posts);
  for (let waited = 0; waited < LATE_MS && answers.length < total; waited += 100) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const cpu = (cpuMicros([subject.pid]) - before) / total;
  const both = (list: readonly number[]) =>
    `${quantile(list, 0.5).toFixed(1)} / ${quantile(list, 0.99).toFixed(1)}`;
  const alone = both(await disk.stop());
  console.log(
    `| ${subject.name} | ${answers.length} of ${total} | ${both(acks)} | ${both(answers)} | ` +
      `${cpu.toFixed(0)} | ${alone} |`,
  );
  closeConnections();
}

/**
 * Writes a page to the same disk twenty times a second and waits for it. No acknowledgement of
 * stored data can be faster.
 */
function probeDisk(): { stop(): Promise<readonly number[]> } {
  const took: number[] = [];
  let isOver = false;
  const page = new Uint8Array(4_096);
  const running = (async () => {
    const path = await Deno.makeTempFile({ prefix: "ft-" });
    using file = await Deno.open(path, { write: true });
    while (!isOver) {
      const begun = performance.now();
      await file.write(page);
      await file.syncData();
      took.push(performance.now() - begun);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await Deno.remove(path);
    return took;
  })();
  return {
    stop: () => {
      isOver = true;
      return running;
    },
  };
}
