/**
 * A program that changes a host endlessly, until it is killed: verbs in an order that a seed
 * decides. It prints `begin <verb>` before each verb and `done <verb>` after its answer. Arguments:
 * root, seed.
 *
 * @module
 */

import { fileServices } from "tests/support/file_services.ts";
import { runFleetctl } from "tests/support/script.ts";

const [root = "", seed = "0"] = Deno.args;
const AGENTS = ["ada", "bea"];
const MCPS = ["agent-message", "team", "paid"];

let state = Number(seed) >>> 0;
/** A small random generator with a seed (mulberry32). */
function next(below: number): number {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
}

function verb(round: number): readonly string[] {
  const agent = AGENTS[next(AGENTS.length)] ?? "";
  const mcp = MCPS[next(MCPS.length)] ?? "";
  switch (next(4)) {
    case 0:
      return ["mcp", "add", mcp, agent, "--force"];
    case 1:
      return ["mcp", "remove", mcp, agent];
    case 2:
      return ["secret", "set", "PAID_TOKEN", "--value", `v${seed}-${round}`, "--agent", agent];
    default:
      return ["apply"];
  }
}

const ports = { services: fileServices };
for (let round = 0;; round++) {
  const words = verb(round);
  console.log(`begin ${words.join(" ")}`);
  const { code } = await runFleetctl(words, { root, ports });
  console.log(`done ${code} ${words.join(" ")}`);
}
