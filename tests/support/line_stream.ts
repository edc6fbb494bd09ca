/**
 * The far end of a local socket that an agent may have taken over: it answers each line with a
 * given value, or never.
 *
 * @module
 */

import type { ByteStream } from "core/ports/sockets.ts";

/** A stream whose far end answers with `answer`, or never when it is undefined. */
export function answeringStream(answer: unknown): ByteStream & { readonly isClosed: boolean } {
  let reader!: ReadableStreamDefaultController<Uint8Array>;
  let isClosed = false;
  return {
    get isClosed() {
      return isClosed;
    },
    readable: new ReadableStream({ start: (controller) => void (reader = controller) }),
    writable: new WritableStream({
      write: () => {
        if (answer === undefined) return;
        reader.enqueue(new TextEncoder().encode(`${JSON.stringify(answer)}\n`));
      },
    }),
    close: () => {
      if (!isClosed) reader.close();
      isClosed = true;
    },
  };
}
