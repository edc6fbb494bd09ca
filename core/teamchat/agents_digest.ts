/**
 * What tells one map of owners from another, without naming anybody. Pure.
 *
 * @module
 */

import { fingerprint } from "core/text/fingerprint.ts";

/** Returns the same text for the same pairs of owner and agent, in whatever order they come. */
export function agentsDigest(agents: Iterable<readonly [owner: string, agent: string]>): string {
  return fingerprint([...agents].map((pair) => JSON.stringify(pair)).sort().join("\n"));
}
