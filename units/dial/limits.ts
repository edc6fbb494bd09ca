/**
 * Limits that concern only the dial unit. Each has its unit in its name and its reason in a
 * comment.
 *
 * @module
 */

/** Reconnect delays of a dial unit: doubling, full jitter, reset after a stable connection. */
export const BACKOFF_LIMITS = {
  firstMs: 500,
  maxMs: 15_000,
  stableMs: 5_000,
} as const;
