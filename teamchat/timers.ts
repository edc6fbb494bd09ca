/**
 * Timers whose callbacks may fail on disk I/O. A failure is only logged: a timer has no caller, so
 * a thrown error would end the whole program. `every` calls again later.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import { FileFault } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";

/** Dependencies of timers. */
export interface TimerDeps {
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
}

/** Calls `run` once after `ms`. The returned function cancels it. */
export function once({ clock, log }: TimerDeps, ms: number, run: () => void): () => void {
  return clock.after(ms, () => {
    try {
      run();
    } catch (thrown) {
      if (!(thrown instanceof FileFault)) throw thrown;
      log.error("storage not read", { error: errorText(thrown) });
    }
  });
}

/** Calls `run` every `ms`. The returned function stops it. */
export function every(deps: TimerDeps, ms: number, run: () => void): () => void {
  let isOver = false;
  let stop = () => {};
  const arm = () => {
    stop = once(deps, ms, () => {
      try {
        run();
      } finally {
        if (!isOver) arm();
      }
    });
  };
  arm();
  return () => {
    isOver = true;
    stop();
  };
}
