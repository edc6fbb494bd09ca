/**
 * Heads of HTTP as bytes: each character is one (Latin-1).
 *
 * @module
 */

import { Buffer } from "node:buffer";

const encoder = new TextEncoder();

/** Writes the characters of `text` to the start of `into`, which must have room for all of them. */
export function putLatin1(text: string, into: Uint8Array): void {
  // The fast path is correct for ASCII only. Compare both counts: other characters take two bytes,
  // and `into` may end after as many bytes as the text has characters.
  const { read, written } = encoder.encodeInto(text, into);
  if (read !== text.length || written !== text.length) into.set(Buffer.from(text, "latin1"));
}
