/**
 * How long to wait before the next try. Pure: the caller has the clock, the chance and the count.
 *
 * @module
 */

/** Waits that grow from try to try. */
export interface Backoff {
  /** The first wait. */
  readonly firstMs: number;
  /** The longest wait. */
  readonly maxMs: number;
  /** How many times longer each wait is than the one before; it doubles if this is absent. */
  readonly factor?: number;
  /** The share of a wait that chance may take away: none if this is absent, 1 is full jitter. */
  readonly jitter?: number;
}

/**
 * Returns wait number `step` (0 is the first); `fraction` in [0, 1) is the chance of the jitter.
 */
export function backoffMs(backoff: Backoff, step: number, fraction = 1): number {
  const { firstMs, maxMs, factor = 2, jitter = 0 } = backoff;
  const full = Math.min(firstMs * factor ** Math.max(step, 0), maxMs);
  return Math.round(full * (1 - jitter * (1 - fraction)));
}
