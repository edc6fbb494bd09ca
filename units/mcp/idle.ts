/**
 * Detects when a connection has been idle for long enough. Pure except for the given clock. One
 * timer serves many idle periods, because a new timer per call would cost more than the gate's
 * decision.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/** Idle detection for one connection. */
export interface IdleWatch {
  /** The connection is idle from now on; `onIdle` is called `ms` later unless it is interrupted. */
  begin(ms: number): void;
  /** The connection is busy. */
  interrupt(): void;
  /** The connection is gone; cancels the timer. */
  end(): void;
}

/** Creates a watch. */
export function createIdleWatch(
  clock: Pick<Clock, "after" | "monotonic">,
  onIdle: () => void,
): IdleWatch {
  let since: number | undefined;
  let limit = 0;
  let stop: (() => void) | undefined;

  const check = () => {
    stop = undefined;
    if (since === undefined) return;
    const left = since + limit - clock.monotonic();
    if (left > 0) stop = clock.after(left, check);
    else {
      since = undefined;
      onIdle();
    }
  };
  return {
    begin(ms) {
      since = clock.monotonic();
      // If the new limit is shorter than that of the running timer, replace the timer.
      if (ms < limit) stop = void stop?.();
      limit = ms;
      stop ??= clock.after(ms, check);
    },
    interrupt() {
      since = undefined;
    },
    end() {
      since = undefined;
      stop?.();
      stop = undefined;
    },
  };
}
