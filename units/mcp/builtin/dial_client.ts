/**
 * One request to the agent's own dial unit over `{home}/.fleetctl/dial/local.sock`: one JSON line
 * out, one JSON line back. The shapes are in `core/dial/local_frames.ts`; the server is
 * `units/dial/local_socket.ts`.
 *
 * @module
 */

import { type LocalAnswer, localAnswer, type LocalRequest } from "core/dial/local_frames.ts";
import { errorText, refusal } from "core/errors.ts";
import { MESSAGE_LIMITS } from "core/limits/message.ts";
import type { Clock } from "core/ports/clock.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";
import { readLines } from "core/text/lines.ts";

/** The dial unit reports a gateway timeout itself, so this client waits a little longer. */
const ANSWER_SECONDS = MESSAGE_LIMITS.answerSeconds + 5;
const ANSWER = { lineBytesMax: 256 * 1024, mustEnd: true };

/** An answer that is not a refusal. */
export type DialAnswer = Extract<
  LocalAnswer,
  { type: "agents_result" } | { type: "owner_message_result" } | { ok: true }
>;

/** Dependencies of a request. */
export interface DialClientPorts {
  readonly clock: Pick<Clock, "after">;
  connect(path: string): Promise<ByteStream>;
}

/** Sends a request to the dial unit; returns the unit's own refusals with their code. */
export async function askDial(
  socket: string,
  question: LocalRequest,
  ports: DialClientPorts,
): Promise<Result<DialAnswer>> {
  const failed = (state: string) =>
    err(refusal("dial-unreachable", `Cannot reach this agent's dial unit: ${state}`, {
      hints: ["fleetctl status"],
    }));
  let stream: ByteStream;
  try {
    stream = await ports.connect(socket);
  } catch (thrown) {
    const isAbsent = thrown instanceof Error && thrown.name === "NotFound";
    return failed(isAbsent ? `its socket "${socket}" does not exist` : errorText(thrown));
  }
  const stop = ports.clock.after(ANSWER_SECONDS * 1000, () => stream.close());
  try {
    const writer = stream.writable.getWriter();
    await writer.write(new TextEncoder().encode(`${JSON.stringify(question)}\n`));
    const line = await readLine(stream.readable);
    return line === undefined ? failed("it ended without an answer") : parseAnswer(line, failed);
  } catch (thrown) {
    return failed(errorText(thrown));
  } finally {
    stop();
    stream.close();
  }
}

async function readLine(readable: ReadableStream<Uint8Array>): Promise<string | undefined> {
  for await (const line of readLines(readable, ANSWER)) return line;
  return undefined;
}

function parseAnswer(
  line: string,
  failed: (state: string) => Result<never>,
): Result<DialAnswer> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return failed("its answer is not JSON");
  }
  const parsed = localAnswer.safeParse(value);
  if (!parsed.success) return failed("its answer has an unknown shape");
  const answer = parsed.data;
  if (answer.type === "agents_result" || answer.type === "owner_message_result") return ok(answer);
  if (answer.type === "message_result" && answer.ok) return ok(answer);
  if (!("code" in answer)) return failed("its answer belongs to another request");
  const code = /^[a-z][a-z0-9-]{0,63}$/.test(answer.code) ? answer.code : "dial-refused";
  return err({ ...refusal("dial-refused", answer.message), code });
}
