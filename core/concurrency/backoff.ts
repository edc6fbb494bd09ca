/**
 * How long to wait before the next try. Pure: the caller supplies the random fraction and the
 * count.
 *
 * @module
 */

/** Waits that grow with each try. */
export interface Backoff {
  /** The first wait. */
  readonly firstMs: number;
  /** The longest wait. */
  readonly maxMs: number;
  /** Factor from one wait to the next; 2 when absent. */
  readonly factor?: number;
  /** Largest share of a wait that jitter may subtract: none when absent, 1 is full jitter. */
  readonly jitter?: number;
}

/**
 * Returns the wait before try `step` (0 is the first), in milliseconds; `fraction` in [0, 1) is the
 * random input of the jitter.
 */
export function backoffMs(backoff: Backoff, step: number, fraction = 1): number {
  const { firstMs, maxMs, factor = 2, jitter = 0 } = backoff;
  const full = Math.min(firstMs * factor ** Math.max(step, 0), maxMs);
  return Math.round(full * (1 - jitter * (1 - fraction)));
}
