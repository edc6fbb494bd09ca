/**
 * Newline-delimited JSON: one value per line. No I/O; `core/text/lines.ts` splits the lines.
 *
 * @module
 */

import { parseJsonObject } from "core/text/json_object.ts";

/** Parses one line as a JSON object; undefined for anything else. */
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
