/**
 * Connects to a unix socket. Separate from listening, because each run of the command line connects
 * and needs nothing else. Closing the writable side is a half-close: the answer can still be read.
 *
 * @module
 */

import type { ByteStream } from "core/ports/sockets.ts";

const READ_BYTES = 64 * 1024;

/** Connects; see `Sockets.connectUnix`. */
export async function connectUnix(path: string): Promise<ByteStream> {
  return unixStream(await Deno.connect({ transport: "unix", path }));
}

/** Returns a connection as two web streams; it closes when both sides have ended. */
export function unixStream(connection: Deno.UnixConn): ByteStream {
  let openSides = 2;
  const close = () => {
    if (openSides <= 0) return;
    openSides = 0;
    connection.close();
  };
  const endSide = () => {
    if (openSides === 1) close();
    else openSides--;
  };
  return {
    readable: readableOf(connection, endSide),
    writable: writableOf(connection, endSide),
    close,
  };
}

function readableOf(connection: Deno.Conn, end: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const buffer = new Uint8Array(READ_BYTES);
      const count = await readSome(connection, buffer);
      if (count === null) {
        controller.close();
        end();
      } else {
        controller.enqueue(buffer.subarray(0, count));
      }
    },
    cancel: end,
  }, { highWaterMark: 0 });
}

/** Reads once. Closing this side while a read waits counts as the end, not as an error. */
async function readSome(connection: Deno.Conn, buffer: Uint8Array): Promise<number | null> {
  try {
    return await connection.read(buffer);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.BadResource || thrown instanceof Deno.errors.Interrupted) {
      return null;
    }
    throw thrown;
  }
}

function writableOf(connection: Deno.Conn, end: () => void): WritableStream<Uint8Array> {
  const finish = async () => {
    try {
      await connection.closeWrite();
    } catch (thrown) {
      // The peer closed first, or this side has closed the whole connection.
      if (!(thrown instanceof Deno.errors.NotConnected || isClosed(thrown))) throw thrown;
    } finally {
      end();
    }
  };
  return new WritableStream<Uint8Array>({
    write: async (chunk) => {
      for (let at = 0; at < chunk.length;) at += await connection.write(chunk.subarray(at));
    },
    close: finish,
    abort: finish,
  });
}

function isClosed(thrown: unknown): boolean {
  return thrown instanceof Deno.errors.BadResource || thrown instanceof Deno.errors.BrokenPipe;
}
