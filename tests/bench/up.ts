/**
 * `up` to `ready`, cold (a new root) and warm (the same root again), and the idle memory of each
 * role. `./dev bench up`, `./dev bench memory`
 *
 * @module
 */

import { quantile } from "tests/bench/measure.ts";
import { processesOf } from "tests/support/processes_of.ts";
import { makeRoot, startUp } from "tests/support/up_process.ts";

const ROUNDS = 5;

async function timeToReady(root: string): Promise<number> {
  const started = performance.now();
  const up = startUp(root);
  await up.line(/^ready /);
  const took = performance.now() - started;
  await up.stop();
  return took;
}

/** Times cold and warm starts, alternating. */
export async function benchUp(): Promise<void> {
  const cold: number[] = [];
  const warm: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const root = await makeRoot();
    cold.push(await timeToReady(root));
    warm.push(await timeToReady(root));
    await Deno.remove(root, { recursive: true });
  }
  console.log("| up to ready | runs | median s | max s |");
  console.log("|---|---|---|---|");
  for (const [name, values] of [["cold (new root)", cold], ["warm (same root)", warm]] as const) {
    console.log(
      `| ${name} | ${values.length} | ${(quantile(values, 0.5) / 1000).toFixed(2)} ` +
        `| ${(Math.max(...values) / 1000).toFixed(2)} |`,
    );
  }
}

/** Prints the resident memory of each process of an idle `up`, and of an empty Deno program. */
export async function benchMemory(): Promise<void> {
  const root = await makeRoot();
  await using up = startUp(root);
  await up.line(/^ready /);
  const empty = new Deno.Command(Deno.execPath(), {
    args: ["eval", "-q", "await new Promise(() => setInterval(() => {}, 1 << 30))"],
  }).spawn();
  console.log("| process | resident MB |");
  console.log("|---|---|");
  for (const line of await processesOf(root)) {
    const [pid = "", ...command] = line.split(" ");
    const shown = command.join(" ").replace(/.*?-P=(\S+) .*?(--agent \S+)?.*/, "$1 $2").trim();
    console.log(`| ${shown.slice(0, 60)} (${pid}) | ${await residentMb(pid)} |`);
  }
  console.log(`| an empty Deno program that waits | ${await residentMb(String(empty.pid))} |`);
  empty.kill("SIGKILL");
  await empty.status;
}

async function residentMb(pid: string): Promise<string> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return (Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? NaN) / 1024).toFixed(0);
}
