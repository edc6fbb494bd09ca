/**
 * The client side of the daemon's socket: sends one request and forwards the output as it arrives.
 * It makes no decisions; the daemon does.
 *
 * @module
 */

import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { ByteStream, Sockets } from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";
import { readLines } from "core/text/lines.ts";
import {
  type DaemonFrame,
  parseDaemonFrame,
  requestText,
  type VerbRequest,
} from "core/verbs/daemon_frames.ts";

/** Where forwarded output goes. */
export interface ForwardOutput {
  out(text: string): Promise<void>;
  err(text: string): Promise<void>;
}

/** Far above the largest frame, which carries the text of one write to stdout or stderr. */
const FRAMES = { lineBytesMax: 4 * 1024 * 1024, mustEnd: true };
/** Error names for a missing socket, or one without a listener. */
const NO_LISTENER = ["NotFound", "ConnectionRefused"];

/** Returns the connection; undefined when no process listens on the socket. */
export async function connectDaemon(
  sockets: Pick<Sockets, "connectUnix">,
  socket: string,
): Promise<ByteStream | undefined> {
  try {
    return await sockets.connectUnix(socket);
  } catch (thrown) {
    if (thrown instanceof Error && NO_LISTENER.includes(thrown.name)) return undefined;
    // A permission error does not mean that the daemon is not running, so it is not reported as
    // that.
    throw thrown;
  }
}

/**
 * Sends the request, forwards the output, and returns the exit code of the verb. `input` is for a
 * verb that serves its client.
 */
export async function forward(
  stream: ByteStream,
  request: VerbRequest,
  output: ForwardOutput,
  input?: ReadableStream<Uint8Array>,
): Promise<Result<number>> {
  const over = new AbortController();
  try {
    await sendLine(stream, requestText(request));
    // If it fails, the connection is lost, which the loop below reports.
    input?.pipeTo(stream.writable, { signal: over.signal }).catch(() => {});
    for await (const line of readLines(stream.readable, FRAMES)) {
      const frame = parseDaemonFrame(line);
      if (frame === undefined) return err(lostDaemon("it sent an invalid frame"));
      const done = await pass(frame, output);
      if (done !== undefined) return done;
    }
    return err(lostDaemon("it closed the connection before the verb ended"));
  } catch (thrown) {
    return err(lostDaemon(errorText(thrown)));
  } finally {
    over.abort();
    stream.close();
  }
}

async function sendLine(stream: ByteStream, line: string): Promise<void> {
  const writer = stream.writable.getWriter();
  await writer.write(new TextEncoder().encode(`${line}\n`));
  writer.releaseLock();
}

async function pass(
  frame: DaemonFrame,
  output: ForwardOutput,
): Promise<Result<number> | undefined> {
  switch (frame.type) {
    case "out":
      await output.out(frame.text);
      return undefined;
    case "err":
      await output.err(frame.text);
      return undefined;
    case "exit":
      return ok(frame.code);
    case "refused":
      return err(frame.error);
  }
}

function lostDaemon(found: string): Refusal {
  return refusal("daemon-lost", `Cannot finish the verb through the daemon: ${found}`, {
    hints: ["fleetctl status", "journalctl -u fleetctl-daemon.service"],
  });
}
