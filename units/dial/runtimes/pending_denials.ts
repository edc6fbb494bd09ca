/**
 * Reasons of denials that a program does not pass to the model. The model reads them before the
 * text of the next turn, each once, in brackets on a separate line. Pure.
 *
 * @module
 */

import { cutText } from "core/text/cut_text.ts";

/** Denials that wait for the next turn. */
export interface PendingDenials {
  add(reason: string): void;
  /** Returns one line for each, repeatedly until `delivered` is called; empty when there is none. */
  take(): readonly string[];
  /**
   * Drops the lines returned last, because the model has read them. After a failed turn this is not
   * called, so they are returned again.
   */
  delivered(): void;
}

/** Maximum number of reasons with one turn; for further ones only the count is given. */
const AT_ONCE_MAX = 8;
const REASON_BYTES_MAX = 2_000;

/** Creates an empty list. */
export function createPendingDenials(): PendingDenials {
  let waiting: string[] = [];
  let omitted = 0;
  let taken = { reasons: 0, omitted: 0 };
  return {
    add(reason) {
      if (waiting.length - taken.reasons >= AT_ONCE_MAX) omitted++;
      else waiting.push(reason);
    },
    take() {
      omitted += Math.max(0, waiting.length - AT_ONCE_MAX);
      waiting = waiting.slice(0, AT_ONCE_MAX);
      taken = { reasons: waiting.length, omitted };
      const lines = waiting.map((reason) => `[permission: ${oneLine(reason)}]`);
      if (omitted > 0) lines.push(`[permission: ${omitted} more calls were denied]`);
      return lines;
    },
    delivered() {
      waiting = waiting.slice(taken.reasons);
      omitted -= taken.omitted;
      taken = { reasons: 0, omitted: 0 };
    },
  };
}

/** Removes line breaks and brackets, so that a reason can neither end its line nor imitate one. */
function oneLine(reason: string): string {
  return cutText(reason.replace(/[\p{Cc}\s[\]]+/gu, " ").trim(), REASON_BYTES_MAX).text;
}
