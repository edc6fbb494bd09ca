/**
 * A clock that stands still until a test moves it. Timers run in order of their time, and what
 * they set off is let run before the next one.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/** A clock in the hands of a test. */
export interface FakeClock extends Clock {
  /** Moves time forward and runs the timers on the way, in order. */
  advance(ms: number): Promise<void>;
  /** Moves time to the next timer and runs it; false when there is none. */
  advanceToNext(): Promise<boolean>;
  /** Sets the wall clock alone, as an administrator does; timers do not notice. */
  setNow(epochMs: number): void;
  /** How many timers wait. */
  pending(): number;
}

/** Start of a fake clock: 2026-01-01T00:00:00Z. */
export const FAKE_NOW = Date.UTC(2026, 0, 1);

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Creates a clock that shows `start`. */
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

/** Lets everything run that waits for nothing but other promises. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
