/**
 * A digest of a map of owners that reveals no names. Pure.
 *
 * @module
 */

import { fingerprint } from "core/text/fingerprint.ts";

/** Returns the same text for the same pairs of owner and agent, in any order. */
export function agentsDigest(agents: Iterable<readonly [owner: string, agent: string]>): string {
  return fingerprint([...agents].map((pair) => JSON.stringify(pair)).sort().join("\n"));
}
