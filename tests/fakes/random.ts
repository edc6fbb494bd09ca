/**
 * Random values that are the same in each run of a test. For tests only.
 *
 * @module
 */

import type { Random } from "core/ports/random.ts";

/** Creates a generator (mulberry32) that yields the same values for the same seed. */
export function seededRandom(seed = 1): Random {
  let state = seed >>> 0;
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const bytes = (length: number) => Uint8Array.from({ length }, () => Math.floor(fraction() * 256));
  return { bytes, fraction, uuid: () => formatUuid(bytes(16)) };
}

function formatUuid(bytes: Uint8Array): string {
  const fixed = Uint8Array.from(bytes);
  fixed[6] = ((fixed[6] ?? 0) & 0x0f) | 0x40;
  fixed[8] = ((fixed[8] ?? 0) & 0x3f) | 0x80;
  const hex = fixed.toHex();
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
