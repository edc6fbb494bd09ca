/**
 * Reasons of denials that a program does not pass on: the model reads them before the text of the
 * next turn, each once, in brackets on a separate line. Pure.
 *
 * @module
 */

import { cutText } from "core/text/cut_text.ts";

/** Denials that wait for a turn. */
export interface UntoldDenials {
  add(reason: string): void;
  /** Returns a line for each, until `told`; empty when there is none. */
  take(): readonly string[];
  /** The model has read what was taken last. A turn that fails does not say so: they wait again. */
  told(): void;
}

/** Reasons with one turn; of further ones only the count is given. */
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

/** Nothing in a reason may look like the end of its line, or like a line of its own. */
function oneLine(reason: string): string {
  return cutText(reason.replace(/[\p{Cc}\s[\]]+/gu, " ").trim(), REASON_BYTES_MAX).text;
}
