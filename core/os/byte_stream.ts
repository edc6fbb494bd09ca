/**
 * A `node:net` socket as two web streams with back-pressure and half-close. Closing the writable
 * side signals the end to the peer, while its answer can still be read.
 *
 * @module
 */

import type { Socket } from "node:net";
import type { ByteStream } from "core/ports/sockets.ts";

/** Wraps a connected socket, which must have been created with `allowHalfOpen`. */
export function byteStreamOf(socket: Socket): ByteStream {
  let isReadClosed = false;
  // `close` follows every error; the streams report both through their own state.
  let failure: Error | undefined;
  socket.on("error", (error) => failure = error);

  const readable = new ReadableStream<Uint8Array>({
    start: (controller) => {
      socket.pause();
      socket.on("data", (chunk: Uint8Array) => {
        controller.enqueue(new Uint8Array(chunk));
        if ((controller.desiredSize ?? 0) <= 0) socket.pause();
      });
      const finish = () => {
        if (isReadClosed) return;
        isReadClosed = true;
        if (failure === undefined) controller.close();
        else controller.error(failure);
      };
      socket.once("end", finish);
      socket.once("close", finish);
    },
    pull: () => void socket.resume(),
    cancel: () => {
      isReadClosed = true;
      socket.removeAllListeners("data");
      // Discard the remaining data, so that the end of the stream is noticed.
      socket.resume();
    },
  });

  const writable = new WritableStream<Uint8Array>({
    start: (controller) => {
      socket.once("close", () => {
        if (!socket.writableFinished) {
          controller.error(failure ?? new Error("Cannot write: the peer is gone"));
        }
      });
    },
    write: (chunk) =>
      new Promise<void>((resolve, reject) => {
        socket.write(chunk, (error) => error ? reject(error) : resolve());
      }),
    close: () => new Promise<void>((resolve) => socket.end(() => resolve())),
    abort: () => void socket.destroy(),
  });

  return { readable, writable, close: () => void socket.destroy() };
}
