/**
 * UTF-8 without leniency: what is malformed is refused, and a byte order mark stays in the text.
 *
 * @module
 */

/** Returns a decoder that throws `TypeError` at what is not UTF-8. */
export function strictUtf8(): TextDecoder {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
}
