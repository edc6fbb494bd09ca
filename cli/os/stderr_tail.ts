/**
 * Keeps the end of a program's stderr while it runs. An unread pipe would block the program.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/** Number of bytes kept. */
const BYTES_MAX = 16 * 1024;
/** Time limit for the remaining output after the request to end. */
const REST_MS_MAX = 1_000;

/** The kept output. */
export interface StderrTail {
  /** Returns the text after the program ends, or the text so far after one second. */
  read(clock: Pick<Clock, "after">): Promise<string>;
}

/** Starts reading a program's stderr. */
export function keepStderr(readable: ReadableStream<Uint8Array>): StderrTail {
  let kept = new Uint8Array();
  const ended = readable.pipeTo(
    new WritableStream({
      write(chunk) {
        const joined = new Uint8Array(kept.length + chunk.length);
        joined.set(kept);
        joined.set(chunk, kept.length);
        kept = joined.slice(-BYTES_MAX);
      },
    }),
  ).catch(() => {/* it ended with the process */});
  return {
    async read(clock) {
      const late = Promise.withResolvers<void>();
      const stop = clock.after(REST_MS_MAX, late.resolve);
      await Promise.race([ended, late.promise]);
      stop();
      return new TextDecoder().decode(kept);
    },
  };
}
