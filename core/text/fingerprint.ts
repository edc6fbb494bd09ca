/**
 * A short text in place of a long one, to compare texts where a collision benefits no attacker: two
 * concatenated FNV-1a hashes. Not cryptographic. Pure.
 *
 * @module
 */

const PRIME = 0x01000193;
const OFFSETS = [0x811c9dc5, 0x050c5d1f];

/** Returns sixteen hexadecimal digits; the same text gives the same digits. */
export function fingerprint(text: string): string {
  return OFFSETS.map((offset) => {
    let sum = offset;
    for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), PRIME);
    return (sum >>> 0).toString(16).padStart(8, "0");
  }).join("");
}
