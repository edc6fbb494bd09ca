/**
 * Compares two readings of the requests of a connection.
 *
 * @module
 */

import { type Difference, differingFields, isMessage } from "tests/core/http1/os/differences.ts";
import type { OwnRequests } from "tests/core/http1/os/own_reading.ts";
import type { Ending, Message, Reading } from "tests/core/http1/os/reading.ts";

/** Returns the first difference; undefined if both readings agree. */
export function requestDifference(
  own: OwnRequests,
  llhttp: Reading,
  text: string,
): Difference | undefined {
  for (let index = 0;; index++) {
    const before = own.messages[index - 1];
    const a = own.messages[index] ?? own.ending;
    const b = llhttp.messages[index] ?? plain(llhttp.ending, before);
    const fields = isMessage(a) && isMessage(b) ? differingFields(a, b) : "";
    if (isMessage(a) && isMessage(b) && fields === "") continue;
    if (!isMessage(a) && !isMessage(b) && isSame(a, b)) return undefined;
    const start = llhttp.starts[index] ?? text.length;
    return { own: a, llhttp: b, fields, text: text.slice(start), start, before };
  }
}

/** The listener reports neither an incomplete head nor what follows the last message. */
function plain(ending: Ending, before: Message | undefined): Ending {
  if (ending.kind === "ended" && before?.isKept === false) return { kind: "closed" };
  return ending.kind === "cut" && ending.stage === "head" ? { kind: "ended" } : ending;
}

function isSame(a: Ending, b: Ending): boolean {
  if (a.kind === "upgraded" && b.kind === "upgraded") return a.rest === b.rest;
  return a.kind === b.kind;
}
