/**
 * The end of what a program prints on stderr, kept while it runs. Unread, its output would stop it.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/** Bytes that are kept. */
const BYTES_MAX = 16 * 1024;
/** How long the rest is waited for once the program was told to end. */
const REST_MS_MAX = 1_000;

/** What was kept. */
export interface ChildWords {
  /** Returns the text after the program ended, or what there is a second later. */
  read(clock: Pick<Clock, "after">): Promise<string>;
}

/** Starts reading. */
export function keepWords(readable: ReadableStream<Uint8Array>): ChildWords {
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
