/**
 * The results of the team-chat bench's rounds, and the peers in them.
 *
 * @module
 */

import { quantile } from "tests/bench/measure.ts";
import { NODE_20 } from "tests/bench/teamchat/load.ts";
import { NODE } from "tests/support/conformance/suite.ts";

/** The vendor's own host. */
export const PEER = "agents-hosting 1.8.1";

/** The peer runs on the Node version of the goal, and on a later one. */
export const PEER_NODES = [
  { name: `${PEER} on Express, Node 20`, node: NODE_20 },
  { name: `${PEER} on Express, Node 22`, node: NODE },
] as const;

/** The result of one round: requests per second, and microseconds of processor time for each. */
export interface Round {
  readonly rate: number;
  readonly cpu: number;
}

/**
 * Prints medians. For every subject but the peers it adds the factor by which each peer uses more
 * processor time.
 */
export function tellRounds(
  title: string,
  what: string,
  rounds: ReadonlyMap<string, readonly Round[]>,
): void {
  const median = (of: (round: Round) => number, name: string) =>
    quantile((rounds.get(name) ?? []).map(of), 0.5);
  const peers = PEER_NODES.map(({ name }) => name);
  console.log(`| ${title} | ${what}/s | processor µs each | Node 20 takes | Node 22 takes |`);
  console.log("|---|---|---|---|---|");
  for (const name of rounds.keys()) {
    const cpu = median((round) => round.cpu, name);
    const times = peers.map((peer) => `${(median((round) => round.cpu, peer) / cpu).toFixed(1)} ×`);
    const ratios = peers.some((peer) => peer === name) ? ["", ""] : times;
    const rate = median((round) => round.rate, name).toFixed(0);
    console.log(`| ${name} | ${rate} | ${cpu.toFixed(0)} | ${ratios.join(" | ")} |`);
  }
}
