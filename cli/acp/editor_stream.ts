/**
 * The messages between an editor and this program, one JSON value per line. Lines from the
 * editor that are no messages, or are too long, are answered and skipped: the connection continues.
 *
 * @module
 */

import { type AnyMessage, RequestError, type Stream } from "@agentclientprotocol/sdk";
import { readLineBytes } from "core/text/lines.ts";
import { strictUtf8 } from "core/text/utf8.ts";

/** A prompt with embedded files is far shorter. A turn's text has 256 KiB at most. */
export const EDITOR_LINE_BYTES_MAX = 8 * 1024 * 1024;
/** A longer line is cut to this length, which still exceeds the limit when a character is split. */
const CUT_BYTES = EDITOR_LINE_BYTES_MAX + 4;

/** Opens the stream; `write` gets whole lines, one after the other. */
export function editorStream(
  input: ReadableStream<Uint8Array>,
  write: (line: string) => Promise<void>,
): Stream {
  let last: Promise<void> = Promise.resolve();
  const send = (message: AnyMessage) => {
    const sent = last.then(() => write(`${JSON.stringify(message)}\n`));
    last = sent.catch(() => {/* the sender of the failed line gets the error */});
    return sent;
  };
  const lines = readLineBytes(input, { lineBytesMax: CUT_BYTES, longLines: "cut" });
  const readable = new ReadableStream<AnyMessage>({
    async pull(controller) {
      for (let { value, done } = await lines.next(); !done; { value, done } = await lines.next()) {
        const { message, fault } = readMessage(value ?? new Uint8Array());
        if (fault !== undefined) await send(fault);
        if (message !== undefined) return controller.enqueue(message);
      }
      controller.close();
    },
    async cancel() {
      await lines.return();
    },
  });
  return { readable, writable: new WritableStream({ write: send }) };
}

/** Returns the value of a line, or the answer if it is not a message; neither for an empty line. */
function readMessage(line: Uint8Array): { message?: AnyMessage; fault?: AnyMessage } {
  if (line.length > EDITOR_LINE_BYTES_MAX) {
    const limit = `the line has more than ${EDITOR_LINE_BYTES_MAX} bytes`;
    return { fault: errorAnswer(RequestError.invalidRequest(undefined, limit), idOf(line)) };
  }
  let value: unknown;
  try {
    const text = strictUtf8().decode(line).trim();
    if (text === "") return {};
    value = JSON.parse(text);
  } catch {
    return { fault: errorAnswer(RequestError.parseError()) };
  }
  // The connection answers every other value that is not a message.
  return typeof value === "object" && value !== null
    ? { message: value as AnyMessage }
    : { fault: errorAnswer(RequestError.invalidRequest(value)) };
}

function errorAnswer(error: RequestError, id: string | number | null = null): AnyMessage {
  return { jsonrpc: "2.0", id, error: error.toErrorResponse() };
}

/** The beginning of a request, as the editors' libraries print it. */
const REQUEST =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15}|"[^"\\]{1,64}")\s*,\s*"method"\s*:/;

/** Returns the id of a request that was cut, because its sender waits for an answer. */
function idOf(line: Uint8Array): string | number | null {
  const [, id] = REQUEST.exec(new TextDecoder().decode(line.subarray(0, 256))) ?? [];
  return id === undefined ? null : JSON.parse(id) as string | number;
}
