/**
 * Writes a runtime's stderr to the log, in bounded amounts: a program may write without end, and
 * the log is shared with everything else on the host.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";

/** Characters that are logged in one window; the rest is only counted. */
export const STDERR_LOGGED_MAX = 1024 * 1024;
const WINDOW_MS = 60_000;

/** The log of one process's stderr. */
export interface StderrLog {
  add(line: string): void;
  /** Logs how much was left out, if anything. */
  end(): void;
}

/** Creates the log of one process. */
export function createStderrLog(
  { clock, log, runtime }: {
    readonly clock: Pick<Clock, "monotonic">;
    readonly log: Log;
    readonly runtime: string;
  },
): StderrLog {
  let since = clock.monotonic();
  let logged = 0;
  let skipped = 0;

  function end(): void {
    if (skipped > 0) log.warning("runtime stderr not logged", { runtime, characters: skipped });
    skipped = 0;
  }

  return {
    add(line) {
      const now = clock.monotonic();
      if (now - since >= WINDOW_MS) {
        end();
        since = now;
        logged = 0;
      }
      if (logged + line.length > STDERR_LOGGED_MAX) {
        skipped += line.length;
        return;
      }
      logged += line.length;
      log.info("runtime", { runtime, line });
    },
    end,
  };
}
