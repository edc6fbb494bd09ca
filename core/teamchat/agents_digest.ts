/**
 * What tells one map of owners from another, without naming anybody. No secret is in it and nobody gains
 * by two that are alike, so it is two FNV-1a sums beside one another. Pure.
 *
 * @module
 */

const PRIME = 0x01000193;
const OFFSETS = [0x811c9dc5, 0x050c5d1f];

/** Returns the same text for the same pairs of owner and agent, in whatever order they come. */
export function agentsDigest(agents: Iterable<readonly [owner: string, agent: string]>): string {
  const text = [...agents].map((pair) => JSON.stringify(pair)).sort().join("\n");
  return OFFSETS.map((offset) => {
    let sum = offset;
    for (let at = 0; at < text.length; at++) {
      sum = Math.imul(sum ^ text.charCodeAt(at), PRIME);
    }
    return (sum >>> 0).toString(16).padStart(8, "0");
  }).join("");
}
