/**
 * Compares two readings of the answer to one request.
 *
 * @module
 */

import { type Difference, differingFields, isMessage } from "tests/core/http1/os/differences.ts";
import type { OurAnswer } from "tests/core/http1/os/our_reading.ts";
import type { Message, Reading } from "tests/core/http1/os/reading.ts";

/** Hop-by-hop headers, which our client removes. */
const OF_CONNECTION =
  /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade|trailer)$/;

/** Returns the difference in the final answer or in its end; undefined if both readings agree. */
export function answerDifference(
  ours: OurAnswer,
  theirs: Reading,
  text: string,
): Difference | undefined {
  const found = theirs.messages.findIndex(({ status, isKept }) =>
    status < 100 || status > 199 || status === 101 || !isKept
  );
  const index = found === -1 ? theirs.messages.length : found;
  const a = ours.messages[0] ?? ours.ending;
  const b = theirs.messages[index] ?? theirs.ending;
  const at = { text, start: 0, before: theirs.messages[index - 1] };
  if (!isMessage(a) || !isMessage(b)) {
    const isSame = !isMessage(a) && !isMessage(b) && a.kind === b.kind;
    return isSame ? undefined : { ours: a, theirs: b, fields: "", ...at };
  }
  const fields = differingFields(a, { ...b, minor: 0, headers: ofMessage(b) });
  const rest = text.slice(theirs.starts[index + 1] ?? text.length);
  // For a chunked body, our client reports only whether extra bytes came with it.
  const isRest = ours.isExact ? rest === ours.rest : rest.endsWith(ours.rest) && rest !== ours.rest;
  if (fields === "" && isRest) return undefined;
  return { ours: a, theirs: b, fields: fields === "" ? "rest" : fields, ...at };
}

function ofMessage({ headers }: Message): Message["headers"] {
  const options = headers.filter(([name]) => name === "connection").map(([, value]) => value)
    .join().toLowerCase().split(",").map((one) => one.trim());
  const named = options.filter((one) => one !== "close" && one !== "keep-alive");
  return headers.filter(([name]) => !OF_CONNECTION.test(name) && !named.includes(name));
}
