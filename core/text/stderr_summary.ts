/**
 * Finds the line of a program's stderr that explains its end. Pure.
 *
 * @module
 */

import { cutText } from "core/text/cut_text.ts";
import { parseJsonLine } from "core/text/json_lines.ts";

const BYTES_MAX = 500;
/** Escape sequences for colours and cursor movements. */
// deno-lint-ignore no-control-regex
const ESCAPES = /\x1b\[[0-9;?]*[ -/]*[@-~]/g;
// deno-lint-ignore no-control-regex
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f]/g;
/**
 * Stack trace frames, which show where and not what, and the interpreter's version line below them.
 */
const FRAME = /^(at\s|\^+$|\.\.\. \d+ more|Node\.js v\d|[{}]$)/;
/** Rust numbers its stack frames, but also the causes of an error, which are sentences. */
const RUST_FRAME =
  /^(stack backtrace:$|\d+:\s+(0x[\da-f]+ - )?(<unknown>|<.+>::.+|[^\s:]+::.+|[a-z_]\w*)$)/i;

/** Returns a line cleaned for display; undefined when it explains nothing. */
export function explainingLine(line: string): string | undefined {
  const plain = line.replace(ESCAPES, "").replace(CONTROLS, " ").trim();
  const text = plain.startsWith("{") ? logged(plain) : plain;
  return text === "" || FRAME.test(text) || RUST_FRAME.test(text)
    ? undefined
    : cutText(text, BYTES_MAX).text;
}

/**
 * Returns the sentence of a line of `core/os/log.ts`; empty when the line reports no fault. Other
 * lines are unchanged.
 */
function logged(line: string): string {
  const { level, event, error } = parseJsonLine(line) ?? {};
  if (typeof level !== "string" || typeof event !== "string") return line;
  if (level === "info" || level === "debug") return "";
  return typeof error === "string" ? `${event}: ${error}` : event;
}
