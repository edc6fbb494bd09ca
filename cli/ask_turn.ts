/**
 * Runs a turn from this host through the agent's dial unit and its local socket. Sends the turn and
 * forwards its events until it ends. Aborting the stop signal cancels the turn.
 *
 * @module
 */

import type { Attached } from "cli/attachments.ts";
import {
  ANSWER_MS_MAX,
  type QueryTarget,
  refusalOf,
  unexpected,
  unreachable,
} from "core/dial/local_query.ts";
import type { LocalAnswer, LocalRequest } from "core/dial/local_frames.ts";
import { connectLocal, type LocalConnection } from "core/dial/local_connection.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import { TURN_LIMITS } from "core/limits/turn.ts";
import { err, ok, type Result } from "core/result.ts";

/** An event or a preview of a turn. */
export type TurnUpdate = Extract<LocalAnswer, { type: "turn_event" | "turn_preview" }>;

/** The caller that follows a turn. */
export interface TurnWatcher {
  onUpdate(update: TurnUpdate): Promise<void>;
  /** Cancels the turn. */
  readonly stop: AbortSignal;
  /** Stops watching; the turn continues. */
  readonly leave?: AbortSignal;
  /** Time that a cancelled turn has to report its end. */
  readonly cancelMs?: number;
}

/** How a turn ended. */
export interface EndedTurn {
  readonly turnId: string;
  /** Payload of `turn_ended`. */
  readonly end: Readonly<Record<string, unknown>>;
}

/** Longest text of an event, JSON-escaped, plus its envelope. */
const LINE_BYTES_MAX = 6 * TURN_LIMITS.toolResultBytesMax + 64 * 1024;
/** The default of `cancelMs`: a person waits for it at a terminal. */
const CANCEL_MS = 5_000;

/** A turn to send; its files are read one at a time. */
export type LocalTurn = Omit<Extract<LocalRequest, { type: "turn" }>, "type"> & {
  readonly files?: AsyncIterable<Attached>;
};

/** Sends a turn and follows it to its end. */
export async function runLocalTurn(
  at: QueryTarget,
  { files, ...turn }: LocalTurn,
  watcher: TurnWatcher,
): Promise<Result<EndedTurn>> {
  const opened = await connectLocal(at.socket, at.connect, LINE_BYTES_MAX);
  if (!opened.ok) return err(withStart(unreachable(opened.error), turn.agent));
  const line = opened.value;
  let forget = () => {};
  /** Sends a request; a dial unit that does not answer in time is given up. */
  const ask = async (request: LocalRequest) => {
    const cancel = at.clock.after(ANSWER_MS_MAX, () => line.close());
    try {
      await line.send(request);
      return await line.receive();
    } finally {
      cancel();
    }
  };
  const leave = () => line.close();
  watcher.leave?.addEventListener("abort", leave, { once: true });
  const stopped = () => {
    forget = at.clock.after(watcher.cancelMs ?? CANCEL_MS, () => line.close());
    line.send({ type: "turn_cancel" }).catch(() => line.close());
  };
  let turnId: string | undefined;
  try {
    const refused = files === undefined ? undefined : await sendFiles(ask, turn.agent, files);
    if (refused !== undefined) return err(withStart(refused, turn.agent));
    const first = await ask({ type: "turn", ...turn });
    if (first.type === "error") return err(withStart(refusalOf(first), turn.agent));
    if (first.type !== "turn_accepted") return err(unexpected(first));
    turnId = first.turn_id;
    if (watcher.stop.aborted) stopped();
    else watcher.stop.addEventListener("abort", stopped, { once: true });
    return ok({ turnId, end: await follow(line, watcher) });
  } catch (thrown) {
    if (turnId !== undefined) return err(watcher.stop.aborted ? notStopped() : lost(turn.agent));
    return err(
      withStart(unreachable(thrown instanceof Error ? thrown.message : "it ended"), turn.agent),
    );
  } finally {
    forget();
    watcher.stop.removeEventListener("abort", stopped);
    watcher.leave?.removeEventListener("abort", leave);
    line.close();
  }
}

/** Sends files in pieces, each after the previous one is stored. Returns the refusal of one. */
async function sendFiles(
  ask: (request: LocalRequest) => Promise<LocalAnswer>,
  agent: string,
  files: AsyncIterable<Attached>,
): Promise<Refusal | undefined> {
  let n = 0;
  for await (const { name, bytes } of files) {
    n++;
    for (let offset = 0; offset < bytes.length;) {
      const piece = bytes.subarray(offset, offset + FILE_LIMITS.fileChunkBytes);
      const size = bytes.length;
      const data = piece.toBase64();
      const answer = await ask({ type: "turn_file", agent, n, name, size, offset, data });
      if (answer.type === "error") return refusalOf(answer);
      if (answer.type !== "turn_file_taken" || answer.next !== offset + piece.length) {
        return unexpected(answer);
      }
      offset = answer.next;
    }
  }
  return undefined;
}

/** Forwards events. Rejects when the connection ends before the turn does. */
async function follow(line: LocalConnection, watcher: TurnWatcher) {
  while (true) {
    const update = await line.receive();
    if (update.type !== "turn_event" && update.type !== "turn_preview") continue;
    await watcher.onUpdate(update);
    if (update.type === "turn_event" && update.kind === "turn_ended") return update.payload;
  }
}

/**
 * Replaces the hints of a refusal with the commands that show and restart the agent. The turn did
 * not begin: the agent may be stopped, or run an older version.
 */
function withStart(reason: Refusal, agent: string): Refusal {
  const isGone = reason.code === "dial-unreachable" || reason.code === "request-invalid";
  if (!isGone) return reason;
  return {
    ...reason,
    hints: [`fleetctl agents show ${agent}`, `fleetctl agents restart ${agent}`],
  };
}

function lost(agent: string): Refusal {
  return refusal(
    "turn-unknown",
    "Cannot determine how the turn ended: the dial unit closed the connection",
    { hints: [`fleetctl agents show ${agent}`] },
  );
}

function notStopped(): Refusal {
  return refusal(
    "turn-stopped",
    "Cannot complete the turn: it was cancelled but did not end in time",
    { hints: ["fleetctl status"] },
  );
}
