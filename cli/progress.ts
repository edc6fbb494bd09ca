/**
 * Progress of long work on stderr: one redrawn line on a terminal, one line per finished step
 * elsewhere, nothing with `--json`; or one line per step as it begins, for a program that watches.
 * Whoever starts it ends it with `clear`.
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

/** Where long work reports. */
export interface Progress {
  step(step: Step): void;
  /** Says why nothing happens for a while; also with `--json`, because it is on stderr. */
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
