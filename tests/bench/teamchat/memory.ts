/**
 * The last part of the team-chat bench: how fast many agents connect, and the cost of each.
 *
 * @module
 */

import { cpuMicros } from "tests/bench/login/load.ts";
import { connectAgents } from "tests/bench/teamchat/agents.ts";
import { ownerOf, ownersOf } from "tests/bench/teamchat/requests.ts";
import { startOwn } from "tests/teamchat/sdks/subjects.ts";
import type { World } from "tests/teamchat/sdks/world.ts";

const AGENTS = 5_000;

/** Prints the seconds, processor time and memory of registering agents. */
export async function registering(world: World): Promise<void> {
  const own = await startOwn(world, ownersOf(AGENTS));
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const before = await residentBytes(own.pid);
  const [started, used] = [performance.now(), cpuMicros([own.pid])];
  const agents = await connectAgents(own, AGENTS, ownerOf);
  const seconds = ((performance.now() - started) / 1e3).toFixed(1);
  const each = ((cpuMicros([own.pid]) - used) / AGENTS).toFixed(0);
  console.log(`${AGENTS} agents registered in ${seconds} s, ${each} µs of processor time each\n`);
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const after = await residentBytes(own.pid);
  console.log(
    `${agents.connected()} registered agents: ${(before / 1e6).toFixed(0)} MB before, ${
      (after / 1e6).toFixed(0)
    } MB after, ${((after - before) / AGENTS / 1e3).toFixed(1)} kB an agent`,
  );
  agents.close();
  await own.stop();
}

async function residentBytes(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}
