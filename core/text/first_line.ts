/**
 * Takes the first line of a byte stream and leaves the rest to another reader. Bounded in bytes.
 * No I/O.
 *
 * @module
 */

import { LineSplitter } from "core/text/lines.ts";

/** The first line, without its ending, and everything after it. */
export interface FirstLine {
  readonly line: Uint8Array;
  /** Read on demand. Its owner reads it to the end or cancels it. */
  readonly rest: ReadableStream<Uint8Array>;
}

const NEWLINE = 10;

/**
 * Returns undefined when the stream ends before the line does, or when `signal` aborts. Rejects
 * with `LineTooLong`. In these cases the stream is cancelled.
 */
export async function takeFirstLine(
  stream: ReadableStream<Uint8Array>,
  of: { readonly lineBytesMax: number; readonly signal?: AbortSignal },
): Promise<FirstLine | undefined> {
  const reader = stream.getReader();
  const splitter = new LineSplitter({ lineBytesMax: of.lineBytesMax });
  const stop = () => void reader.cancel().catch(() => {/* it has failed, which ends it too */});
  of.signal?.addEventListener("abort", stop, { once: true });
  if (of.signal?.aborted) stop();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return undefined;
      const [line] = splitter.push(value);
      if (line === undefined) continue;
      return { line, rest: restOf(value.subarray(value.indexOf(NEWLINE) + 1), reader) };
    }
  } catch (thrown) {
    stop();
    throw thrown;
  } finally {
    of.signal?.removeEventListener("abort", stop);
  }
}

function restOf(
  first: Uint8Array,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (first.length > 0) controller.enqueue(first);
    },
    async pull(controller) {
      const { value, done } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}
