/**
 * The server side of the manager's control socket. The socket has mode 0600, and the kernel must
 * report each peer as the same user. Requests of one connection are answered in order.
 *
 * @module
 */

import { readLines } from "core/text/lines.ts";
import type { EmbeddedManager } from "units/manager/embedded.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { PeerStream, Sockets } from "core/ports/sockets.ts";
import { errorText } from "core/errors.ts";
import {
  CONTROL_LIMITS,
  type ControlAnswer,
  type ControlRequest,
  faultAnswer,
  parseRequest,
} from "units/manager/control/control_frames.ts";

const SOCKET_MODE = 0o600;
const LINES = { lineBytesMax: CONTROL_LIMITS.requestBytesMax, mustEnd: true };

/** Dependencies of the server. */
export interface ControlDeps {
  readonly path: string;
  readonly ownUid: number;
  readonly sockets: Pick<Sockets, "serveUnix">;
  readonly clock: Clock;
  readonly log: Log;
  readonly manager: Pick<
    EmbeddedManager,
    "start" | "stop" | "restart" | "enable" | "disable" | "reload" | "status" | "journal"
  >;
}

/** Starts to serve the control socket. */
export function serveControl(deps: ControlDeps): Promise<{ close(): Promise<void> }> {
  let open = 0;
  return deps.sockets.serveUnix(deps.path, SOCKET_MODE, (stream) => {
    const isOtherUser = stream.peer.uid !== deps.ownUid;
    if (isOtherUser || open >= CONTROL_LIMITS.connectionsMax) {
      const reason = isOtherUser ? "another user" : "too many connections";
      deps.log.warning("control_refused", { reason, uid: stream.peer.uid, pid: stream.peer.pid });
      stream.close();
      return;
    }
    open++;
    void converse(stream, deps).finally(() => open--);
  });
}

async function converse(stream: PeerStream, deps: ControlDeps): Promise<void> {
  const writer = stream.writable.getWriter();
  let cancelIdle = deps.clock.after(CONTROL_LIMITS.idleMs, () => stream.close());
  try {
    for await (const line of readLines(stream.readable, LINES)) {
      cancelIdle();
      const answer = await answerTo(line, deps);
      await writer.write(new TextEncoder().encode(`${JSON.stringify(answer)}\n`));
      cancelIdle = deps.clock.after(CONTROL_LIMITS.idleMs, () => stream.close());
    }
  } catch (thrown) {
    // A client that disconnects before its answer is sent is not a fault.
    deps.log.debug("control_ended", { error: errorText(thrown) });
  } finally {
    cancelIdle();
    stream.close();
  }
}

async function answerTo(line: string, deps: ControlDeps): Promise<ControlAnswer> {
  const request = parseRequest(line);
  if (request === undefined) return faultAnswer(new Error("Cannot read the request: unknown form"));
  try {
    return { ok: true, value: await execute(request, deps.manager) };
  } catch (thrown) {
    return faultAnswer(thrown);
  }
}

async function execute(
  request: ControlRequest,
  manager: ControlDeps["manager"],
): Promise<Extract<ControlAnswer, { ok: true }>["value"]> {
  switch (request.verb) {
    case "status":
      return await manager.status(request.units);
    case "journal":
      return await manager.journal(request.unit, request.lines);
    case "reload":
      await manager.reload();
      return null;
    default:
      await manager[request.verb](request.unit);
      return null;
  }
}
