/**
 * A connection to a dial unit's local socket that speaks in lines: requests out, answers in.
 * Knows nothing of what they mean.
 *
 * @module
 */

import { type LocalAnswer, localAnswer, type LocalRequest } from "core/dial/local_frames.ts";
import { errorText } from "core/errors.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";
import { readLines } from "core/text/lines.ts";

/** One connection that speaks in lines. */
export interface LocalLine {
  send(request: LocalRequest): Promise<void>;
  /** Rejects when the other end is gone. */
  receive(): Promise<LocalAnswer>;
  close(): void;
}

/** Connects; the error says what was found. */
export async function openLocalLine(
  socket: string,
  connect: (path: string) => Promise<ByteStream>,
  lineBytesMax: number,
): Promise<Result<LocalLine, string>> {
  let stream: ByteStream;
  try {
    stream = await connect(socket);
  } catch (thrown) {
    const isAbsent = thrown instanceof Error && thrown.name === "NotFound";
    return err(
      isAbsent
        ? `its dial unit is not there ("${socket}" does not exist)`
        : `its dial unit does not answer: ${errorText(thrown)}`,
    );
  }
  const writer = stream.writable.getWriter();
  writer.closed.catch(() => {/* the reader sees the end too */});
  const lines = readLines(stream.readable, { lineBytesMax });
  return ok({
    send: (request) => writer.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`)),
    async receive() {
      const { value, done } = await lines.next();
      if (done === true) throw new Error("the dial unit ended the connection");
      return localAnswer.parse(JSON.parse(value));
    },
    close: () => stream.close(),
  });
}
