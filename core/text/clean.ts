/**
 * Makes untrusted text safe to display: removes terminal sequences, makes control and direction
 * characters visible, and replaces lone surrogates with the replacement character. Pure.
 *
 * @module
 */

const ANSI =
  // deno-lint-ignore no-control-regex -- escape sequences begin with a control character
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[@-Z\\-_])|\u009b[0-?]*[ -/]*[@-~]/g;
// deno-lint-ignore no-control-regex -- see above
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;
const HIGH_CONTROL = /[\u0080-\u009f]/g;
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Cleans text of several lines. */
export function clean(text: string): string {
  return text.toWellFormed()
    .replace(ANSI, "")
    .replace(/\r\n?/g, "\n")
    .replace(
      CONTROL,
      (sign) => String.fromCharCode(sign === "\u007f" ? 0x2421 : 0x2400 + sign.charCodeAt(0)),
    )
    .replace(HIGH_CONTROL, "\ufffd")
    .replace(
      DIRECTION,
      (sign) => `⟨U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
    );
}

/** Cleans text and puts it on one line. */
export function cleanLine(text: string): string {
  return clean(text).replace(/\s*\n\s*/g, " ⏎ ").replace(/\t/g, " ");
}
