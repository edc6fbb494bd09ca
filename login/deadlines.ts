/**
 * Many deadlines on one timer: a request that ends in time costs two set operations and no timer.
 * The clock is passed in, wall or monotonic.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/** The deadlines. */
export interface Deadlines {
  /** Calls `run` at a time of the clock; returns a function that cancels it. */
  add(atMs: number, run: () => void): () => void;
  /** Cancels all. */
  close(): void;
}

/** Longest wait of one timer, so that a changed wall clock is noticed within a minute. */
const WAIT_MS_MAX = 60_000;

interface Entry {
  readonly atMs: number;
  readonly run: () => void;
}

/** Creates an empty set of deadlines on a clock. */
export function createDeadlines(now: () => number, after: Clock["after"]): Deadlines {
  const entries = new Set<Entry>();
  let wakeAt = Infinity;
  let cancel = () => {};
  const wait = (untilMs: number) => {
    cancel();
    wakeAt = untilMs;
    cancel = after(Math.min(WAIT_MS_MAX, Math.max(0, untilMs - now())), wake);
  };
  const wake = () => {
    wakeAt = Infinity;
    const at = now();
    let next = Infinity;
    for (const entry of entries) {
      if (entry.atMs > at) next = Math.min(next, entry.atMs);
      else if (entries.delete(entry)) entry.run();
    }
    if (next < wakeAt) wait(next);
  };
  return {
    add: (atMs, run) => {
      const entry = { atMs, run };
      entries.add(entry);
      if (atMs < wakeAt) wait(atMs);
      return () => void entries.delete(entry);
    },
    close: () => {
      entries.clear();
      cancel();
    },
  };
}
