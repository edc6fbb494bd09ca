/**
 * Truncates text to a number of UTF-8 bytes without breaking a character. No I/O. Every text that
 * leaves a runtime is truncated here, so that one huge tool result cannot fill a queue.
 *
 * @module
 */

/** A truncated text, and the number of bytes removed from the original. */
export interface CutText {
  readonly text: string;
  readonly cutBytes: number;
}

const encoder = new TextEncoder();
// Otherwise a byte order mark where a piece begins would be lost.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Returns the number of UTF-8 bytes of a text. */
export function byteLength(text: string): number {
  // ASCII needs no encoding to be counted.
  return isAscii(text) ? text.length : encoder.encode(text).length;
}

// deno-lint-ignore no-control-regex
const ASCII = /^[\x00-\x7f]*$/;

function isAscii(text: string): boolean {
  return ASCII.test(text);
}

/** Keeps the beginning of a text, at most `bytesMax` bytes. */
export function cutText(text: string, bytesMax: number): CutText {
  if (text.length * 3 <= bytesMax) return { text, cutBytes: 0 };
  const bytes = encoder.encode(text);
  if (bytes.length <= bytesMax) return { text, cutBytes: 0 };
  const end = boundaryBefore(bytes, bytesMax);
  return {
    text: decoder.decode(bytes.subarray(0, end)),
    cutBytes: bytes.length - end,
  };
}

/**
 * Keeps the beginning and the end of a text, at most `bytesMax` bytes together. A note between
 * them, which does not count, says how much is missing.
 */
export function cutMiddle(text: string, bytesMax: number): CutText {
  if (text.length * 3 <= bytesMax) return { text, cutBytes: 0 };
  const bytes = encoder.encode(text);
  if (bytes.length <= bytesMax) return { text, cutBytes: 0 };
  const headEnd = boundaryBefore(bytes, Math.floor(bytesMax / 2));
  const tailStart = boundaryAfter(bytes, bytes.length - Math.floor(bytesMax / 2));
  const cutBytes = tailStart - headEnd;
  const head = decoder.decode(bytes.subarray(0, headEnd));
  const tail = decoder.decode(bytes.subarray(tailStart));
  return { text: `${head}\n[… ${cutBytes} bytes left out …]\n${tail}`, cutBytes };
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}

function boundaryBefore(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end > 0 && isContinuation(bytes[end])) end--;
  return end;
}

function boundaryAfter(bytes: Uint8Array, at: number): number {
  let start = at;
  while (start < bytes.length && isContinuation(bytes[start])) start++;
  return start;
}
