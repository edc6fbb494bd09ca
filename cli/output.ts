/**
 * Turns a verb's report into text: lines, tables cut to the terminal's width, colour only on a
 * terminal. Pure: the composition root prints. Reports are data, so that `--json` and the text have
 * the same content.
 *
 * @module
 */

import type { ExitCode } from "cli/exit.ts";
import type { Refusal } from "core/errors.ts";
import type { Terminal } from "core/verbs/daemon_frames.ts";

/** The meaning of a piece of text. */
export type Tone = "good" | "bad" | "warn" | "dim" | "head";

/** Text, or text with a tone. */
export type Cell = string | { readonly text: string; readonly tone: Tone };

/** One part of a report. */
export type Block =
  | {
    readonly kind: "lines";
    readonly lines: readonly Cell[];
    /** Text from elsewhere, in which no command is rewritten. */
    readonly isVerbatim?: boolean;
  }
  | {
    readonly kind: "table";
    readonly title?: string;
    readonly columns: readonly string[];
    readonly rows: readonly (readonly Cell[])[];
    /** Printed instead of a table without rows. */
    readonly empty: string;
  };

/** The result of a verb. */
export interface VerbReport {
  /** The document that `--json` prints; keys are snake_case. */
  readonly json: unknown;
  readonly blocks: readonly Block[];
  /** Printed to stderr with `warning:`. They do not change the exit code. */
  readonly warnings?: readonly Refusal[];
  /** What failed although the verb continued; the exit code is then 1. */
  readonly faults?: readonly Refusal[];
  /** The exit code if it does not follow from the faults. */
  readonly exit?: ExitCode;
}

const TONES: Readonly<Record<Tone, string>> = {
  good: "32",
  bad: "31",
  warn: "33",
  dim: "2",
  head: "1",
};
const GAP = "  ";
/** Minimum width of a cut column. */
const CELL_WIDTH_MIN = 8;

/** Returns a report of plain lines. */
export function linesReport(json: unknown, lines: readonly Cell[]): VerbReport {
  return { json, blocks: [{ kind: "lines", lines }] };
}

/** Returns a report of lines from elsewhere, printed verbatim. */
export function verbatimReport(json: unknown, lines: readonly Cell[]): VerbReport {
  return { json, blocks: [{ kind: "lines", lines, isVerbatim: true }] };
}

/** Returns blocks in which `spell` has rewritten the commands, so that they can be pasted here. */
export function withCommands(
  blocks: readonly Block[],
  spell: (line: string) => string,
): readonly Block[] {
  const cell = (given: Cell): Cell =>
    typeof given === "string" ? spell(given) : { ...given, text: spell(given.text) };
  return blocks.map((block) =>
    block.kind === "table"
      ? { ...block, rows: block.rows.map((row) => row.map(cell)), empty: spell(block.empty) }
      : block.isVerbatim === true
      ? block
      : { ...block, lines: block.lines.map(cell) }
  );
}

/** Prints blocks, separated by an empty line, with a final newline. */
export function printBlocks(blocks: readonly Block[], terminal: Terminal): string {
  const printed = blocks.map((block) => printBlock(block, terminal)).filter((part) => part !== "");
  return printed.length === 0 ? "" : `${printed.join("\n\n")}\n`;
}

function printBlock(block: Block, terminal: Terminal): string {
  if (block.kind === "lines") {
    return block.lines.map((line) => printCell(line, terminal)).join("\n");
  }
  const title = block.title === undefined
    ? []
    : [printCell({ text: block.title, tone: "head" }, terminal)];
  if (block.rows.length === 0) return [...title, block.empty].join("\n");
  return [...title, ...printTable(block.columns, block.rows, terminal)].join("\n");
}

function printTable(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
  terminal: Terminal,
): readonly string[] {
  const widths = columns.map((name, index) =>
    Math.max(name.length, ...rows.map((row) => plain(row[index] ?? "").length))
  );
  shrink(widths, terminal.columns);
  const line = (cells: readonly Cell[]) =>
    cells.map((cell, index) => {
      const isLast = index === columns.length - 1;
      return printCell(cell, terminal, widths[index] ?? 0, isLast);
    }).join(GAP).trimEnd();
  const head = columns.map((text): Cell => ({ text: text.toUpperCase(), tone: "dim" }));
  return [line(head), ...rows.map(line)];
}

/**
 * Narrows the widest column until the line fits. With 0 columns there is no terminal, and nothing
 * is cut.
 */
function shrink(widths: number[], columns: number): void {
  if (columns === 0) return;
  const room = columns - GAP.length * (widths.length - 1);
  for (let total = sum(widths); total > room; total--) {
    const widest = widths.indexOf(Math.max(...widths));
    const width = widths[widest] ?? 0;
    if (width <= CELL_WIDTH_MIN) return;
    widths[widest] = width - 1;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function plain(cell: Cell): string {
  return safeText(typeof cell === "string" ? cell : cell.text);
}

function printCell(cell: Cell, terminal: Terminal, width = 0, isLast = true): string {
  const whole = plain(cell);
  const text = width > 0 && whole.length > width ? `${whole.slice(0, width - 1)}…` : whole;
  const padded = isLast ? text : text.padEnd(width);
  if (typeof cell === "string" || !terminal.color) return padded;
  return `\x1b[${TONES[cell.tone]}m${padded}\x1b[0m`;
}

/**
 * Replaces control characters with `?`, because text from files and servers must not control the
 * terminal.
 */
export function safeText(text: string): string {
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "?");
}
