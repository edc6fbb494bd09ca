/**
 * Newline-delimited JSON over byte streams, pulled: no line is read before the last one was taken.
 * That is what carries back-pressure from an outbox to a runtime. No I/O of its own.
 *
 * @module
 */

import { parseJsonObject } from "core/json_object.ts";

/** Thrown when a peer sends a line that is longer than it may be. */
export class LineTooLong extends Error {
  override readonly name = "LineTooLong";
  constructor(readonly lineBytesMax: number) {
    super(`A line is longer than ${lineBytesMax} bytes`);
  }
}

/** How to read lines. */
export interface LineOptions {
  readonly lineBytesMax: number;
  /** Hands a longer line on in pieces instead of throwing `LineTooLong`; for logs. */
  readonly splitsLongLines?: boolean;
}

/** Yields each line of a byte stream without its end; a last line without newline counts too. */
export async function* readLines(
  bytes: ReadableStream<Uint8Array>,
  options: LineOptions,
): AsyncGenerator<string, void, undefined> {
  const reader = bytes.getReader();
  const decoder = new TextDecoder();
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  const take = (last: Uint8Array): string => {
    const line = held.length === 0 ? last : joined(held, last, heldBytes);
    held = [];
    heldBytes = 0;
    const text = decoder.decode(line);
    return text.endsWith("\r") ? text.slice(0, -1) : text;
  };
  try {
    while (true) {
      const { value, done } = await reader.read();
      if (done) break;
      let start = 0;
      for (let end = value.indexOf(10); end !== -1; end = value.indexOf(10, start)) {
        yield take(value.subarray(start, end));
        start = end + 1;
      }
      if (start < value.length) {
        heldBytes += value.length - start;
        held.push(value.slice(start));
        if (heldBytes > options.lineBytesMax) {
          if (!options.splitsLongLines) throw new LineTooLong(options.lineBytesMax);
          yield take(new Uint8Array(0));
        }
      }
    }
    if (heldBytes > 0) yield take(new Uint8Array(0));
  } finally {
    // The consumer stopped early or the stream failed: whoever writes must notice.
    await reader.cancel().catch(() => {});
  }
}

function joined(held: readonly Uint8Array[], last: Uint8Array, heldBytes: number): Uint8Array {
  const all = new Uint8Array(heldBytes + last.length);
  let at = 0;
  for (const piece of held) {
    all.set(piece, at);
    at += piece.length;
  }
  all.set(last, at);
  return all;
}

/** Parses one line as a JSON object; undefined when it is none. */
export function parseJsonLine(line: string): Record<string, unknown> | undefined {
  return parseJsonObject(line);
}

/** Returns a stream that writes each value as one line of JSON. */
export function jsonLineWriter<T>(
  writer: WritableStreamDefaultWriter<Uint8Array>,
): WritableStream<T> {
  const encoder = new TextEncoder();
  return new WritableStream<T>({
    write: (value) => writer.write(encoder.encode(`${JSON.stringify(value)}\n`)),
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason),
  });
}
