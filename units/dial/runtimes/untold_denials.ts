/**
 * Reasons of denials that a program does not pass to the model. The model reads them before the
 * text of the next turn, each once, in brackets on a separate line. Pure.
 *
 * @module
 */

import { cutText } from "core/text/cut_text.ts";

/** Denials that wait for the next turn. */
export interface UntoldDenials {
  add(reason: string): void;
  /** Returns one line for each, repeatedly until `told` is called; empty when there is none. */
  take(): readonly string[];
  /**
   * Drops the lines returned last, because the model has read them. After a failed turn this is not
   * called, so they are returned again.
   */
  told(): void;
}

/** Maximum number of reasons with one turn; for further ones only the count is given. */
const AT_ONCE_MAX = 8;
const REASON_BYTES_MAX = 2_000;

/** Creates an empty list. */
export function createUntoldDenials(): UntoldDenials {
  let waiting: string[] = [];
  let left = 0;
  let taken = { reasons: 0, left: 0 };
  return {
    add(reason) {
      if (waiting.length - taken.reasons >= AT_ONCE_MAX) left++;
      else waiting.push(reason);
    },
    take() {
      left += Math.max(0, waiting.length - AT_ONCE_MAX);
      waiting = waiting.slice(0, AT_ONCE_MAX);
      taken = { reasons: waiting.length, left };
      const lines = waiting.map((reason) => `[permission: ${oneLine(reason)}]`);
      if (left > 0) lines.push(`[permission: ${left} more calls were denied]`);
      return lines;
    },
    told() {
      waiting = waiting.slice(taken.reasons);
      left -= taken.left;
      taken = { reasons: 0, left: 0 };
    },
  };
}

/** Removes line breaks and brackets, so that a reason can neither end its line nor imitate one. */
function oneLine(reason: string): string {
  return cutText(reason.replace(/[\p{Cc}\s[\]]+/gu, " ").trim(), REASON_BYTES_MAX).text;
}
