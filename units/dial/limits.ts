/**
 * Bounds of what the dial unit alone decides, each with its unit in its name and its
 * reason beside it.
 *
 * @module
 */

/** Reconnect ladder of a dial unit: doubling, full jitter, reset after a stable connection. */
export const BACKOFF_LIMITS = {
  firstMs: 500,
  maxMs: 15_000,
  stableMs: 5_000,
} as const;
