/**
 * Where two readings of the same bytes differ first, and the text that they differ about.
 *
 * @module
 */

import { trimmed } from "core/http1/messages.ts";
import type { Ending, Message } from "tests/core/http1/os/reading.ts";

/** Two readers, and what each makes of the first message that they do not agree about. */
export interface Difference {
  readonly ours: Message | Ending;
  readonly theirs: Message | Ending;
  /** Names of what differs in a message that both accept. */
  readonly fields: string;
  /** From the beginning of the message, which may have others before it. */
  readonly text: string;
  readonly start: number;
  /** The message before it. */
  readonly before: Message | undefined;
}

/** A difference that is known, and the reason for it. */
export interface Known {
  readonly name: string;
  readonly we: "are stricter" | "are looser" | "refuse later";
  readonly why: string;
  /** Section of a standard. */
  readonly section: string;
  /** Bytes that the readers differ about in this way. */
  readonly example: string;
  readonly isIt: (difference: Difference) => boolean;
  /** The text in a form that both accept as far as this goes: the rest must be read alike. */
  readonly mend?: (text: string) => string;
  /** We end the connection here: what follows must be read alike on a new one. */
  readonly isEnd?: true;
}

/** Whether a reader accepted a message. */
export function isMessage(one: Message | Ending): one is Message {
  return !("kind" in one);
}

/** Names of the parts in which two messages differ. */
export function differingFields(ours: Message, theirs: Message): string {
  const names = ["method", "target", "status", "headers", "body", "isKept", "isUpgrade"] as const;
  return names.filter((name) => JSON.stringify(ours[name]) !== JSON.stringify(theirs[name])).join();
}

/** Why a reader refused; empty when it did not. */
export function reasonOf(one: Message | Ending): string {
  return "kind" in one && one.kind === "refused" ? one.reason : "";
}

/** The head of a message: its first line, and its headers with their names in lowercase. */
export interface Head {
  readonly first: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Whether its empty line has come. */
  readonly isWhole: boolean;
}

/** Reads a head as far as it is well formed, without judging it. */
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

/** All values of a header. */
export function valuesOf({ headers }: Head, name: string): readonly string[] {
  return headers.filter(([known]) => known === name).map(([, value]) => value);
}

/** White space in `Connection` that is no part of an option. */
export const SPACED_OPTION = /^((?:proxy-)?connection:[^\r\n]*[^\s:,])[ \t]+(?=,|\r)/im;

/** Takes that white space off. */
export function withoutSpacedOptions(text: string): string {
  let mended = text;
  while (SPACED_OPTION.test(mended)) mended = mended.replace(SPACED_OPTION, "$1");
  return mended;
}

/**
 * Whether a chunked body has an extension without a name, or without the value that `=` promises.
 */
export function hasBrokenExtension(text: string): boolean {
  return /\r\n[0-9A-Fa-f]+(?:;[^\r\n]*)?(?:;=|=\r|=;)/.test(text);
}

/** The first `Connection` behind the head, where the trailers of a chunked body are. */
export const CONNECTION_TRAILER = /(\r\n\r\n[^]*?\r\n)((?:proxy-)?connection:)/i;
