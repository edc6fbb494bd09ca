/**
 * When a connection has been idle for long enough. Pure but for the clock it is given. One timer
 * stands for many beginnings and ends of idleness: setting one anew for each call costs more than
 * judging the call.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/** Watches one connection. */
export interface IdleWatch {
  /** Nothing is under way from now on; `ms` later `onIdle` is told, unless something was. */
  begin(ms: number): void;
  /** Something is under way. */
  interrupt(): void;
  /** The connection is gone; no timer is left. */
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

  const look = () => {
    stop = undefined;
    if (since === undefined) return;
    const left = since + limit - clock.monotonic();
    if (left > 0) stop = clock.after(left, look);
    else {
      since = undefined;
      onIdle();
    }
  };
  return {
    begin(ms) {
      since = clock.monotonic();
      // A shorter limit than the one that the timer runs for must not wait for that timer.
      if (ms < limit) stop = void stop?.();
      limit = ms;
      stop ??= clock.after(ms, look);
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
