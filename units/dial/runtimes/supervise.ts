/**
 * Watches a runtime's process. Logs its stderr. Describes its end in a sentence with the exit code
 * or signal and the last lines. When the process ends, ends its whole process group. Never restarts
 * anything: that is the dial unit's decision.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Child, ProcessExit } from "core/ports/processes.ts";
import { explainingLine } from "core/text/stderr_summary.ts";
import { createStderrLog } from "units/dial/runtimes/stderr_log.ts";
import { readLines } from "core/text/lines.ts";

/** Maximum size of a line of stderr that is kept and logged, in bytes. */
const STDERR_LINE_BYTES_MAX = 64 * 1024;
const LINES = { lineBytesMax: STDERR_LINE_BYTES_MAX, longLines: "split" } as const;
/** Number of stderr lines in the sentence: the cause is often above the last line. */
const LAST_LINES = 3;
/** How long to wait for the last lines when a grandchild keeps stderr open. */
const DRAIN_MS = 500;

/** A child whose stderr is read. */
export interface SupervisedChild {
  readonly child: Child;
  /** Resolves when the process has ended; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Describes the end: `the runtime ended with exit code 3; last line: "…"`. */
  sentence(exit: ProcessExit): string;
  /** The end of stderr as `; last line: "…"` or `; last lines: "…" "…"`; empty without output. */
  stderrTail(): string;
}

/** Starts reading the stderr of a child. */
export function superviseChild(
  child: Child,
  ports: { readonly clock: Clock; readonly log: Log },
  runtime: string,
): SupervisedChild {
  let last: readonly string[] = [];
  const stderrLog = createStderrLog({ ...ports, runtime });
  const drained = drain();

  async function drain(): Promise<void> {
    try {
      for await (const line of readLines(child.stderr, LINES)) {
        if (line.trim() === "") continue;
        const useful = explainingLine(line);
        if (useful !== undefined) last = [...last, useful].slice(-LAST_LINES);
        stderrLog.add(line);
      }
    } catch (error) {
      ports.log.warning("runtime stderr unreadable", { runtime, reason: errorText(error) });
    }
    stderrLog.end();
  }

  function stderrTail(): string {
    if (last.length === 0) return "";
    const lines = last.map((line) => JSON.stringify(line)).join(" ");
    return `; last line${last.length === 1 ? "" : "s"}: ${lines}`;
  }

  return {
    child,
    exited: child.exited.then(async (exit) => {
      // Ends the whole group: otherwise processes that the program left behind would run
      // unsupervised.
      child.kill("SIGKILL");
      const drainedSoon = new AbortController();
      await Promise.race([drained, ports.clock.sleep(DRAIN_MS, drainedSoon.signal)]);
      drainedSoon.abort();
      return exit;
    }),
    sentence(exit) {
      const how = exit.signal === undefined
        ? `exit code ${exit.code ?? "unknown"}`
        : `signal ${exit.signal}`;
      return `the runtime ended with ${how}${stderrTail()}`;
    },
    stderrTail,
  };
}
