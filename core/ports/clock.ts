/**
 * The port of time.
 *
 * @module
 */

/** Wall clock, monotonic clock and timers. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since an arbitrary start; never decreases. */
  monotonic(): number;
  /** Resolves after `ms`, or earlier when `signal` aborts (it never rejects). */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
}
