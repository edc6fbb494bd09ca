/**
 * Strict UTF-8: malformed text is refused, and a byte order mark stays in the text.
 *
 * @module
 */

/** Returns a decoder that throws `TypeError` on invalid UTF-8. */
export function strictUtf8(): TextDecoder {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
}
