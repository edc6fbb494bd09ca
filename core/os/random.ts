/**
 * Unpredictable bytes from the kernel behind the `Random` port.
 * Never seeded: a test that needs repeatable values uses the fake.
 *
 * @module
 */

import type { Random } from "core/ports/random.ts";

/** Largest buffer that one call of `getRandomValues` fills. */
const CHUNK_BYTES = 65_536;

/** Returns the system's source of randomness. */
export function systemRandom(): Random {
  return {
    bytes,
    uuid: () => crypto.randomUUID(),
    // NOTE: for jitter only; nothing that must be unpredictable may use it.
    fraction: () => Math.random(),
  };
}

function bytes(length: number): Uint8Array<ArrayBuffer> {
  const filled = new Uint8Array(length);
  for (let at = 0; at < length; at += CHUNK_BYTES) {
    crypto.getRandomValues(filled.subarray(at, Math.min(at + CHUNK_BYTES, length)));
  }
  return filled;
}
