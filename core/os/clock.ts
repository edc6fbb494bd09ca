/**
 * The machine's clock and timers behind the `Clock` port. Decisions never use it directly: they
 * receive a `Clock`, which tests replace with a stopped one.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/** Longest delay that a timer accepts; a longer one would fire at once. */
const TIMER_MS_MAX = 2_147_483_647;

/** Returns the machine's clock. */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep,
    after: startTimer,
  };
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const finish = () => {
    cancel();
    signal?.removeEventListener("abort", finish);
    resolve();
  };
  const cancel = startTimer(ms, finish);
  signal?.addEventListener("abort", finish);
  return promise;
}

/** Splits a delay that is too long for one timer into several timers. */
function startTimer(ms: number, run: () => void): () => void {
  let left = Math.max(0, Number.isFinite(ms) ? ms : 0);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const leg = () => {
    const now = Math.min(left, TIMER_MS_MAX);
    left -= now;
    timer = setTimeout(left > 0 ? leg : run, now);
  };
  leg();
  return () => clearTimeout(timer);
}
