/**
 * Compares two readings of the answer to one request.
 *
 * @module
 */

import { type Difference, differingFields, isMessage } from "tests/core/http1/os/differences.ts";
import type { OwnAnswer } from "tests/core/http1/os/own_reading.ts";
import type { Message, Reading } from "tests/core/http1/os/reading.ts";

/** Hop-by-hop headers, which the client removes. */
const OF_CONNECTION =
  /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade|trailer)$/;

/** Returns the difference in the final answer or in its end; undefined if both readings agree. */
export function answerDifference(
  own: OwnAnswer,
  llhttp: Reading,
  text: string,
): Difference | undefined {
  const found = llhttp.messages.findIndex(({ status, isKept }) =>
    status < 100 || status > 199 || status === 101 || !isKept
  );
  const index = found === -1 ? llhttp.messages.length : found;
  const a = own.messages[0] ?? own.ending;
  const b = llhttp.messages[index] ?? llhttp.ending;
  const at = { text, start: 0, before: llhttp.messages[index - 1] };
  if (!isMessage(a) || !isMessage(b)) {
    const isSame = !isMessage(a) && !isMessage(b) && a.kind === b.kind;
    return isSame ? undefined : { own: a, llhttp: b, fields: "", ...at };
  }
  const fields = differingFields(a, { ...b, minor: 0, headers: ofMessage(b) });
  const rest = text.slice(llhttp.starts[index + 1] ?? text.length);
  // For a chunked body, the client reports only whether extra bytes came with it.
  const isRest = own.isExact ? rest === own.rest : rest.endsWith(own.rest) && rest !== own.rest;
  if (fields === "" && isRest) return undefined;
  return { own: a, llhttp: b, fields: fields === "" ? "rest" : fields, ...at };
}

function ofMessage({ headers }: Message): Message["headers"] {
  const options = headers.filter(([name]) => name === "connection").map(([, value]) => value)
    .join().toLowerCase().split(",").map((one) => one.trim());
  const named = options.filter((one) => one !== "close" && one !== "keep-alive");
  return headers.filter(([name]) => !OF_CONNECTION.test(name) && !named.includes(name));
}
