/**
 * Progress of long work on stderr. On a terminal it is one redrawn line, elsewhere one line per
 * finished step, with `--json` nothing. For a program that watches, it is one line per step as it
 * begins. The caller that starts progress ends it with `clear`.
 *
 * @module
 */

import { safeText } from "cli/output.ts";
import type { Terminal } from "core/verbs/daemon_frames.ts";

/** One step of long work. */
export interface Step {
  readonly text: string;
  readonly state: "begin" | "done" | "failed";
  readonly index: number;
  readonly total: number;
}

/** Receives the progress of long work. */
export interface Progress {
  step(step: Step): void;
  /**
   * Prints the reason for a wait; also with `--json`, because stderr is separate from the report.
   */
  note(text: string): void;
  /** Removes the redrawn line. */
  clear(): void;
}

const BAR_WIDTH = 20;

/** Returns a progress that writes through `write`. */
export function createProgress(
  write: (text: string) => void,
  terminal: Terminal,
  how: "usual" | "begins" | "quiet",
): Progress {
  let isDrawn = false;
  return {
    step(step) {
      if (how === "quiet") return;
      if (how === "begins") {
        if (step.state !== "done") write(`${stepLine(step)}\n`);
        return;
      }
      if (!terminal.live) {
        if (step.state !== "begin") write(`${stepLine(step)}\n`);
        return;
      }
      isDrawn = true;
      write(`\r\x1b[K${barLine(step, terminal.columns || 80)}`);
    },
    note(text) {
      if (isDrawn) write("\r\x1b[K");
      isDrawn = false;
      write(`${safeText(text)}\n`);
    },
    clear() {
      if (isDrawn) write("\r\x1b[K");
      isDrawn = false;
    },
  };
}

function stepLine(step: Step): string {
  const mark = step.state === "failed" ? "failed " : "";
  return `[${step.index + 1}/${step.total}] ${mark}${safeText(step.text)}`;
}

function barLine(step: Step, columns: number): string {
  const share = step.total === 0 ? 1 : (step.index + (step.state === "begin" ? 0 : 1)) / step.total;
  const filled = Math.round(Math.min(1, share) * BAR_WIDTH);
  const bar = "#".repeat(filled) + "-".repeat(BAR_WIDTH - filled);
  return `[${bar}] ${safeText(step.text)}`.slice(0, columns - 1);
}
