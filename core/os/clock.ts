/**
 * The machine's clock and timers behind the `Clock` port.
 * Never used directly by decisions: they get a `Clock`, and in tests one that stands still.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/** Longest delay that a timer takes; a longer one would fire at once. */
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

/** Runs longer delays than one timer can hold in several legs. */
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
