/**
 * A clock that does not move until a test advances it. Timers run in the order of their times. The
 * promises that a timer sets off settle before the next timer runs.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/** A clock that a test controls. */
export interface FakeClock extends Clock {
  /** Advances the time and runs, in order, the timers that become due. */
  advance(ms: number): Promise<void>;
  /** Advances to the next timer and runs it. Returns false when no timer is pending. */
  advanceToNext(): Promise<boolean>;
  /** Sets only the wall clock, as an administrator does. Timers are not affected. */
  setNow(epochMs: number): void;
  /** Returns the number of pending timers. */
  pending(): number;
}

/** Start time of a fake clock: 2026-01-01T00:00:00Z. */
export const FAKE_NOW = Date.UTC(2026, 0, 1);

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Creates a clock that starts at `start`, in epoch milliseconds. */
export function fakeClock(start: number = FAKE_NOW): FakeClock {
  let elapsed = 0;
  let wallOffset = start;
  let order = 0;
  const timers = new Set<Timer>();

  const after = (ms: number, run: () => void) => {
    const timer = { at: elapsed + Math.max(0, ms), order: order++, run };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  const next = () =>
    [...timers].sort((one, other) => one.at - other.at || one.order - other.order)[0];
  const runTimer = async (timer: Timer) => {
    elapsed = Math.max(elapsed, timer.at);
    timers.delete(timer);
    timer.run();
    await settle();
  };

  return {
    now: () => wallOffset + elapsed,
    monotonic: () => elapsed,
    after,
    sleep: (ms, signal) => {
      if (signal?.aborted === true) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const finish = () => {
        cancel();
        signal?.removeEventListener("abort", finish);
        resolve();
      };
      const cancel = after(ms, finish);
      signal?.addEventListener("abort", finish);
      return promise;
    },
    advance: async (ms) => {
      await settle();
      const end = elapsed + ms;
      for (let timer = next(); timer !== undefined && timer.at <= end; timer = next()) {
        await runTimer(timer);
      }
      elapsed = end;
      await settle();
    },
    advanceToNext: async () => {
      await settle();
      const timer = next();
      if (timer !== undefined) await runTimer(timer);
      return timer !== undefined;
    },
    setNow: (epochMs) => {
      wallOffset = epochMs - elapsed;
    },
    pending: () => timers.size,
  };
}

/** Lets everything run that waits only for other promises. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
