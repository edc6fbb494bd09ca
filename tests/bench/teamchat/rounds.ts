/**
 * What the rounds of the team-chat bench come to, and beside whom they are run.
 *
 * @module
 */

import { quantile } from "tests/bench/measure.ts";
import { NODE_20 } from "tests/bench/teamchat/load.ts";
import { NODE } from "tests/support/conformance/suite.ts";

/** The vendor's own host. */
export const PEER = "agents-hosting 1.8.1";

/** It runs on the Node on which the goal was set, and on a later one. */
export const PEER_NODES = [
  { name: `${PEER} on Express, Node 20`, node: NODE_20 },
  { name: `${PEER} on Express, Node 22`, node: NODE },
] as const;

/** What one round came to: how many a second, and microseconds of processor time for each. */
export interface Round {
  readonly rate: number;
  readonly cpu: number;
}

/**
 * Prints medians, and for all but the peers how many times less processor time that is
 * than each of theirs.
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
