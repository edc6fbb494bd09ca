/**
 * Work at times of its own. What the disk does not give at that moment is logged and asked
 * for again: a timer has nobody above it, and what it throws would end the program with
 * the work of everybody else.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import { FileFault } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";

/** What timers need. */
export interface TimerParts {
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
}

/** Calls `run` once after `ms`; returns what cancels it. */
export function once({ clock, log }: TimerParts, ms: number, run: () => void): () => void {
  return clock.after(ms, () => {
    try {
      run();
    } catch (thrown) {
      if (!(thrown instanceof FileFault)) throw thrown;
      log.error("storage not read", { error: errorText(thrown) });
    }
  });
}

/** Calls `run` every `ms` from now on; returns what ends it. */
export function every(parts: TimerParts, ms: number, run: () => void): () => void {
  let isOver = false;
  let stop = () => {};
  const arm = () => {
    stop = once(parts, ms, () => {
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
