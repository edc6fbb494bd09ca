/**
 * Which line of a program's stderr explains its end. Pure.
 *
 * @module
 */

import { cutText } from "core/runtimes/cut_text.ts";

const BYTES_MAX = 500;
/** Colours and cursor movements. */
// deno-lint-ignore no-control-regex
const ESCAPES = /\x1b\[[0-9;?]*[ -/]*[@-~]/g;
// deno-lint-ignore no-control-regex
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f]/g;
/** A frame of a stack trace says where, not what. */
const FRAME = /^(at\s|\^+$|\.\.\. \d+ more)/;

/** Returns a line ready to be shown, or undefined when it explains nothing. */
export function tellingLine(line: string): string | undefined {
  const text = line.replace(ESCAPES, "").replace(CONTROLS, " ").trim();
  return text === "" || FRAME.test(text) ? undefined : cutText(text, BYTES_MAX).text;
}
