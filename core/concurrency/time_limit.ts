/**
 * A time limit on an action that takes an `AbortSignal`, measured by a clock that is passed in.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/**
 * Runs an action and aborts its signal after `ms` milliseconds. The action must observe the signal;
 * it is not stopped otherwise. The timer is cancelled when the action ends.
 */
export async function withinTime<T>(
  clock: Pick<Clock, "after">,
  ms: number,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(ms, () => {
    late.abort(new DOMException(`no answer within ${ms / 1000} s`, "TimeoutError"));
  });
  try {
    return await run(late.signal);
  } finally {
    cancel();
  }
}
