/**
 * Watching a runtime's process: its stderr goes to the log, its end becomes a sentence with the
 * exit code or signal and its last line. Never restarts anything: that is the dial unit's decision.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Child, Clock, Log, ProcessExit } from "core/ports.ts";
import { tellingLine } from "core/runtimes/drivers/last_words.ts";
import { readLines } from "core/runtimes/drivers/json_lines.ts";

/** Longest line of stderr that is kept and logged, in bytes. */
const STDERR_LINE_BYTES_MAX = 64 * 1024;
const LINES = { lineBytesMax: STDERR_LINE_BYTES_MAX, splitsLongLines: true };
/** How long the last lines are waited for when a grandchild holds stderr open. */
const DRAIN_MS = 500;

/** A child whose stderr is drained. */
export interface SupervisedChild {
  readonly child: Child;
  /** Resolves when the process has ended; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Says how it ended: `the runtime ended with exit code 3; last line: "…"`. */
  sentence(exit: ProcessExit): string;
  /** The last line of stderr as `; last line: "…"`, or nothing. */
  lastWords(): string;
}

/** Starts draining the stderr of a child. */
export function superviseChild(
  child: Child,
  ports: { readonly clock: Clock; readonly log: Log },
  runtime: string,
): SupervisedChild {
  let last = "";
  const drained = drain();

  async function drain(): Promise<void> {
    try {
      for await (const line of readLines(child.stderr, LINES)) {
        if (line.trim() === "") continue;
        last = tellingLine(line) ?? last;
        ports.log.info("runtime", { runtime, line });
      }
    } catch (error) {
      ports.log.warning("runtime stderr unreadable", { runtime, reason: errorText(error) });
    }
  }

  function lastWords(): string {
    return last === "" ? "" : `; last line: ${JSON.stringify(last)}`;
  }

  return {
    child,
    exited: child.exited.then(async (exit) => {
      const drainedSoon = new AbortController();
      await Promise.race([drained, ports.clock.sleep(DRAIN_MS, drainedSoon.signal)]);
      drainedSoon.abort();
      return exit;
    }),
    sentence(exit) {
      const how = exit.signal === undefined
        ? `exit code ${exit.code ?? "unknown"}`
        : `signal ${exit.signal}`;
      return `the runtime ended with ${how}${lastWords()}`;
    },
    lastWords,
  };
}
