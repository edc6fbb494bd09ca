/**
 * A client connection to a dial unit's local socket: one JSON request per line, one answer per
 * line. Transport only; it does not interpret requests.
 *
 * @module
 */

import { type LocalAnswer, localAnswer, type LocalRequest } from "core/dial/local_frames.ts";
import { errorText } from "core/errors.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";
import { readLines } from "core/text/lines.ts";

/** One line-based connection. */
export interface LocalConnection {
  send(request: LocalRequest): Promise<void>;
  /** Rejects if the dial unit has closed the connection. */
  receive(): Promise<LocalAnswer>;
  close(): void;
}

/**
 * Connects. The error is a clause for the caller's message, such as "its dial unit is not running".
 */
export async function connectLocal(
  socket: string,
  connect: (path: string) => Promise<ByteStream>,
  lineBytesMax: number,
): Promise<Result<LocalConnection, string>> {
  let stream: ByteStream;
  try {
    stream = await connect(socket);
  } catch (thrown) {
    const isAbsent = thrown instanceof Error && thrown.name === "NotFound";
    return err(
      isAbsent
        ? `its dial unit is not running ("${socket}" does not exist)`
        : `its dial unit does not answer: ${errorText(thrown)}`,
    );
  }
  const writer = stream.writable.getWriter();
  writer.closed.catch(() => {/* `receive` reports the end */});
  const lines = readLines(stream.readable, { lineBytesMax });
  return ok({
    send: (request) => writer.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`)),
    async receive() {
      const { value, done } = await lines.next();
      if (done === true) throw new Error("the dial unit closed the connection");
      return localAnswer.parse(JSON.parse(value));
    },
    close: () => stream.close(),
  });
}
