/**
 * The first difference between two readings of the same bytes, and the text where it occurs.
 *
 * @module
 */

import { trimmed } from "core/http1/messages.ts";
import type { Ending, Message } from "tests/core/http1/os/reading.ts";

/** Two readings of the first message on which the readers disagree. */
export interface Difference {
  readonly own: Message | Ending;
  readonly llhttp: Message | Ending;
  /** Names of the fields that differ in a message that both accept. */
  readonly fields: string;
  /** The text from the start of the message; other messages may precede it. */
  readonly text: string;
  readonly start: number;
  /** The preceding message. */
  readonly before: Message | undefined;
}

/** A known difference, and the reason for it. */
export interface Known {
  readonly name: string;
  readonly verdict:
    | "stricter than llhttp"
    | "less strict than llhttp"
    | "refused later than by llhttp";
  readonly why: string;
  /** Section of a standard. */
  readonly section: string;
  /** Bytes on which the readers disagree in this way. */
  readonly example: string;
  readonly isIt: (difference: Difference) => boolean;
  /** Rewrites the text so that both readers agree on this point. They must agree on the rest. */
  readonly mend?: (text: string) => string;
  /** The listener ends the connection here. On a new one, both must agree on what follows. */
  readonly isEnd?: true;
}

/** Whether a reader accepted a message. */
export function isMessage(one: Message | Ending): one is Message {
  return !("kind" in one);
}

/** Names of the parts in which two messages differ. */
export function differingFields(own: Message, llhttp: Message): string {
  const names = ["method", "target", "status", "headers", "body", "isKept", "isUpgrade"] as const;
  return names.filter((name) => JSON.stringify(own[name]) !== JSON.stringify(llhttp[name])).join();
}

/** Returns why a reader refused; empty if it did not. */
export function reasonOf(one: Message | Ending): string {
  return "kind" in one && one.kind === "refused" ? one.reason : "";
}

/** The head of a message: its first line, and its headers with their names in lowercase. */
export interface Head {
  readonly first: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Whether the empty line at its end has arrived. */
  readonly isWhole: boolean;
}

/** Reads a head as far as it is well-formed, without validating it. */
export function headOf(text: string): Head {
  const start = text.replace(/^(?:\r\n)+/, "");
  const end = start.indexOf("\r\n\r\n");
  const [first = "", ...lines] = (end === -1 ? start : start.slice(0, end)).split("\r\n");
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), trimmed(line.slice(colon + 1))] as const;
  });
  return { first, headers, isWhole: end !== -1 };
}

/** Returns all values of a header. */
export function valuesOf({ headers }: Head, name: string): readonly string[] {
  return headers.filter(([known]) => known === name).map(([, value]) => value);
}

/** White space in `Connection` that is not part of an option. */
export const SPACED_OPTION = /^((?:proxy-)?connection:[^\r\n]*[^\s:,])[ \t]+(?=,|\r)/im;

/** Removes that white space. */
export function withoutSpacedOptions(text: string): string {
  let mended = text;
  while (SPACED_OPTION.test(mended)) mended = mended.replace(SPACED_OPTION, "$1");
  return mended;
}

/**
 * Returns whether a chunked body has an extension without a name, or without a value after `=`.
 */
export function hasBrokenExtension(text: string): boolean {
  return /\r\n[0-9A-Fa-f]+(?:;[^\r\n]*)?(?:;=|=\r|=;)/.test(text);
}

/** The first `Connection` after the head, in the trailers of a chunked body. */
export const CONNECTION_TRAILER = /(\r\n\r\n[^]*?\r\n)((?:proxy-)?connection:)/i;
