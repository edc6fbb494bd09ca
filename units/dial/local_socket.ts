/**
 * The local socket: the agent's own programs write to other agents through it. Mode 0600 in the
 * agent's home, and the kernel names the peer: only the agent's own user is answered.
 *
 * @module
 */

import { type LocalAnswer, localRequest } from "core/dial/local_frames.ts";
import { errorText, type Refusal } from "core/errors.ts";
import { MESSAGE_LIMITS } from "core/limits.ts";
import type { Log, PeerStream, Sockets, Users } from "core/ports.ts";
import { LineTooLong, parseJsonLine, readLines } from "core/runtimes/drivers/json_lines.ts";
import type { GatewayQuestions } from "units/dial/messages.ts";

/** Connections at once. */
const CONNECTIONS_MAX = 16;
/** JSON makes a text at most six times longer. */
const LINE_BYTES_MAX = 6 * MESSAGE_LIMITS.textBytesMax + 1024;
const ROOT_UID = 0;

/** Opens the socket; rejects with `FileFault`. */
export async function openLocalSocket(
  path: string,
  parts: {
    readonly sockets: Pick<Sockets, "serveUnix">;
    readonly users: Pick<Users, "currentUid">;
    readonly questions: GatewayQuestions;
    readonly log: Log;
  },
): Promise<{ close(): Promise<void> }> {
  const { users, log } = parts;
  let open = 0;
  return await parts.sockets.serveUnix(path, 0o600, (stream) => {
    const { uid } = stream.peer;
    if (uid !== users.currentUid() && uid !== ROOT_UID) {
      log.warning("local socket refused a peer", { uid });
      return stream.close();
    }
    if (open >= CONNECTIONS_MAX) return stream.close();
    open++;
    serve(stream, parts.questions)
      .catch((thrown) => log.warning("local socket failed", { error: errorText(thrown) }))
      .finally(() => {
        open--;
        stream.close();
      });
  });
}

async function serve(stream: PeerStream, questions: GatewayQuestions): Promise<void> {
  const writer = stream.writable.getWriter();
  const answer = (value: LocalAnswer) =>
    writer.write(new TextEncoder().encode(`${JSON.stringify(value)}\n`));
  try {
    for await (const line of readLines(stream.readable, { lineBytesMax: LINE_BYTES_MAX })) {
      if (line !== "") await answer(await handle(line, questions));
    }
  } catch (thrown) {
    if (!(thrown instanceof LineTooLong)) throw thrown;
    await answer({ type: "error", code: "line-too-long", message: errorText(thrown) });
  }
}

async function handle(line: string, questions: GatewayQuestions): Promise<LocalAnswer> {
  const request = localRequest.safeParse(parseJsonLine(line));
  if (!request.success) {
    const message = "Cannot read the request: it is no message and no question for agents";
    return { type: "error", code: "request-invalid", message };
  }
  if (request.data.type === "agents") {
    const names = await questions.agentNames();
    return names.ok
      ? { type: "agents_result", names: [...names.value] }
      : { type: "error", ...shown(names.error) };
  }
  const sent = await questions.sendMessage(request.data);
  return sent.ok
    ? { type: "message_result", ok: true }
    : { type: "message_result", ok: false, ...shown(sent.error) };
}

function shown({ code, message }: Refusal) {
  return { code, message };
}
