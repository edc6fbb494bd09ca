/**
 * The effect of a flood of guessed passwords on other users, for `./dev bench login`. A separate
 * program guesses, while other requests are sent at a steady pace. For comparison, the same clients
 * at the same pace send no password and are refused at once. The difference is the cost of the
 * hashes.
 *
 * @module
 */

import { quantile } from "tests/bench/measure.ts";
import { runPaced, type Target } from "tests/bench/login/load.ts";

const ROUNDS = 5;
const SECONDS = 3;
const FLOOD_MS = 4_500;
/** Time in which the passwords still queued after a flood are checked. */
const DRAIN_MS = 4_000;

/**
 * Sends wrong passwords as fast as they are refused, each from another address, for some
 * milliseconds.
 */
const FLOOD = `
const [port, ms, first] = Deno.args.map(Number);
const header = Deno.args[3];
const statuses = {};
let client = first;
const until = performance.now() + ms;
await Promise.all(Array.from({ length: 64 }, async () => {
  while (performance.now() < until) {
    client++;
    let status = 0;
    try {
      const answer = await fetch("http://127.0.0.1:" + port + "/api/x", { headers: {
        [header]: "Basic " + btoa("nobody-" + client + "@example.org:x"),
        "x-forwarded-for": [10, client >> 16 & 255, client >> 8 & 255, client & 255].join("."),
      } });
      await answer.body?.cancel();
      status = answer.status;
    } catch {
      // Closed for idleness just then.
    }
    statuses[status] = (statuses[status] ?? 0) + 1;
    // Who was sent away comes again, as a program that guesses does; who waited comes at once.
    if (status === 503 || header !== "authorization") {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}));
console.log(JSON.stringify(statuses));
`;

/** Sends other requests without a flood, during one that hashes, and during one that does not. */
export async function measureFlood(
  others: Target,
  at: { readonly port: number; readonly folder: string; readonly pace: number },
): Promise<void> {
  const program = `${at.folder}/flood.ts`;
  await Deno.writeTextFile(program, FLOOD);
  const modes = { none: undefined, passwords: "authorization", "no passwords": "x-nothing" };
  const took: Record<string, number[]> = {};
  const reported: Record<string, string> = {};
  let floods = 0;
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, header] of Object.entries(modes)) {
      const args = [String(at.port), String(FLOOD_MS), String(++floods << 14), header ?? ""];
      const flood = header === undefined ? undefined : new Deno.Command(Deno.execPath(), {
        args: ["run", "-q", "--no-config", "--allow-net", program, ...args],
        stdin: "null",
        stderr: "null",
      }).output();
      const latencies = await runPaced(others, { pace: at.pace, seconds: SECONDS });
      (took[name] ??= []).push(quantile(latencies, 0.99));
      if (flood === undefined) continue;
      reported[name] = new TextDecoder().decode((await flood).stdout).trim();
      await new Promise((resolve) => setTimeout(resolve, DRAIN_MS));
    }
  }
  console.log(`\n| 64 clients that guess, argon2id of 64 MiB | p99 of others, ms | answered |`);
  console.log("|---|---|---|");
  for (const [name, all] of Object.entries(took)) {
    const each = all.map((one) => one.toFixed(1)).join(", ");
    console.log(
      `| ${name} | ${quantile(all, 0.5).toFixed(2)} (${each}) | ${reported[name] ?? ""} |`,
    );
  }
}
