/**
 * The table of an evaluation. No I/O.
 *
 * @module
 */

import type { TaskResult } from "tests/eval/run_task.ts";

const HEAD = ["task", "result", "calls", "tokens in", "tokens out", "seconds", ""];
/** Columns of numbers are aligned to the right. */
const IS_NUMBER = [false, false, true, true, true, true, false];

/** Prints one row per task, and how many are done. */
export function printResults(results: readonly TaskResult[]): string {
  const rows = [HEAD, ...results.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return IS_NUMBER[column] === true ? cell.padStart(width) : cell.padEnd(width);
    }).join("  ").trimEnd()
  );
  const done = results.filter(({ fault }) => fault === undefined).length;
  return [...lines, `${done} of ${results.length} tasks done`].join("\n");
}

function cellsOf({ task, fault, calls, inputTokens, outputTokens, ms }: TaskResult) {
  const result = fault === undefined ? "done" : "failed";
  const numbers = [calls, inputTokens, outputTokens].map(String);
  return [task, result, ...numbers, (ms / 1_000).toFixed(1), fault ?? ""];
}
