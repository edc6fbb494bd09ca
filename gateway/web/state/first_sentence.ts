/**
 * The first sentence of a text. Pure.
 *
 * @module
 */

import { clean } from "core/text/clean.ts";

/** Returns the first sentence, for an announcement. */
export function firstSentence(text: string): string {
  const plain = clean(text.slice(0, 2_000))
    .replace(/```[^]*?(```|$)/g, " ")
    .replace(/[*_`#>|]+/g, "")
    .replace(/\s+/g, " ").trim();
  const end = /[.!?](?=\s|$)/.exec(plain);
  const sentence = end === null ? plain : plain.slice(0, end.index + 1);
  return sentence.length > 200 ? `${sentence.slice(0, 200)}…` : sentence;
}
