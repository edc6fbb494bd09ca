/**
 * Turns that come from this host over the local socket, and their watchers. The first event of such
 * a turn names the person who asked. Only root is believed about that name; otherwise the agent's
 * own programs could impersonate another person.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { namedConversation } from "core/dial/conversation.ts";
import { byteLength } from "core/text/cut_text.ts";
import type { PreviewEvent } from "core/dial/event.ts";
import { fitPayload } from "units/dial/fit_event.ts";
import { type LocalAnswer, type LocalRequest, localRequest } from "core/dial/local_frames.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import { TURN_LIMITS } from "core/limits/turn.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import { parseJsonLine } from "core/text/json_lines.ts";
import type { GatewayConnection } from "units/dial/gateway_connection.ts";
import { type PeerRights, wrongAgent } from "units/dial/local_approvals.ts";
import type { FilledTurn, LocalTurnFiles } from "units/dial/local_turn_files.ts";

/** A request for a turn. */
export type TurnRequest = Extract<LocalRequest, { type: "turn" }>;

/** What a watcher receives. */
type WatcherEvent = Extract<LocalAnswer, { type: "turn_event" | "turn_preview" }>;

/** Turns from this host. */
export interface LocalTurns {
  /** Stores a turn; calls `show` with each of its events and previews, from the first one. */
  begin(
    turn: Pick<TurnRequest, "text" | "by" | "conversation" | "steer"> & {
      readonly filled?: FilledTurn | undefined;
    },
    show: (event: WatcherEvent) => void,
  ): Result<WatchedTurn>;
  /** Passes a preview to the watcher of its turn. */
  preview(event: PreviewEvent): void;
}

/** A turn, for the connection that requested it. */
export interface WatchedTurn {
  readonly turnId: string;
  cancel(): Promise<void>;
  /** Stops watching; the turn continues. */
  unwatch(): void;
}

/** Dependencies of local turns. */
export interface LocalTurnDeps {
  readonly connection: Pick<GatewayConnection, "store" | "acceptTurn" | "cancel" | "steer">;
  readonly clock: Pick<Clock, "now">;
  readonly random: Pick<Random, "uuid">;
  readonly log: Log;
}

/** Maximum number of host turns that are watched at once. */
export const WATCHED_TURNS_MAX = 8;
/**
 * Bytes that may wait for a watcher. A watcher that does not read loses the watch; the turn
 * continues.
 */
const UNREAD_BYTES_MAX = 8 * 1024 * 1024;

/** Creates the local turns of one gateway connection. */
export function createLocalTurns(
  { connection, clock, random, log }: LocalTurnDeps,
): LocalTurns {
  const watchers = new Map<string, (event: WatcherEvent) => void>();
  connection.store.listen((drafts) => {
    for (const { turnId, kind, payload } of drafts) {
      const show = turnId === undefined ? undefined : watchers.get(turnId);
      show?.({ type: "turn_event", kind, payload: { ...fitPayload(kind, payload) } });
    }
  });
  return {
    begin({ text, by, filled, ...of }, show) {
      const bytes = byteLength(text);
      if (text.trim() === "" || bytes > TURN_LIMITS.textBytesMax) return err(unfit(bytes));
      if (watchers.size >= WATCHED_TURNS_MAX) return err(tooMany());
      const turnId = filled?.turnId ?? random.uuid();
      watchers.set(turnId, show);
      const unwatch = () => void watchers.delete(turnId);
      const conversation = namedConversation(of.conversation);
      const payload = { text, by, ...defined({ conversation, files: filled?.shown }) };
      const askedEvent = { at: clock.now(), turnId, kind: "turn_asked", payload };
      const turn = {
        turnId,
        text: [text, ...filled?.lines ?? []].join("\n"),
        origin: `host:${by}`,
        conversation,
        files: filled?.files,
      };
      const accepted = connection.acceptTurn(turn, askedEvent);
      if (!accepted.ok) {
        unwatch();
        return accepted;
      }
      log.info("turn requested on this host", { turn: turnId, by });
      if (of.steer === true) connection.steer(turnId);
      return ok({ turnId, cancel: () => connection.cancel(turnId), unwatch });
    },
    preview: (event) => watchers.get(event.turn_id)?.({ type: "turn_preview", event }),
  };
}

/** Serves one turn to its end, or until the connection ends. */
export async function serveTurn(
  request: TurnRequest,
  turns: LocalTurns,
  peer: {
    readonly rights: PeerRights;
    readonly files: LocalTurnFiles;
    readonly log: Log;
    next(): Promise<string | undefined>;
    answer(value: LocalAnswer): Promise<void>;
  },
): Promise<void> {
  const { rights, files, log, next, answer } = peer;
  const denied = deniedTurn(request.agent, rights);
  if (denied !== undefined) return await answer(errorLine(denied));
  const done = Promise.withResolvers<void>();
  let sent: Promise<void> = Promise.resolve();
  let unread = 0;
  const send = (value: LocalAnswer) => {
    const size = JSON.stringify(value).length;
    unread += size;
    if (unread > UNREAD_BYTES_MAX) {
      return done.reject(new Error("the watcher does not read its events"));
    }
    sent = sent.then(() => answer(value)).then(() => {
      unread -= size;
      if (value.type === "turn_event" && value.kind === "turn_ended") done.resolve();
    });
    sent.catch(done.reject);
  };
  // Buffers what is shown before the request has been answered.
  const early: WatcherEvent[] = [];
  let show = (event: WatcherEvent): unknown => early.push(event);
  const filled = await files.claim();
  const begun = turns.begin({ ...request, filled }, (event) => void show(event));
  if (!begun.ok) {
    if (filled !== undefined) await files.drop(filled.turnId);
    return await answer(errorLine(begun.error));
  }
  const { turnId, cancel, unwatch } = begun.value;
  send({ type: "turn_accepted", turn_id: turnId });
  early.forEach(send);
  show = send;
  try {
    await Promise.race([done.promise, handleLines(next, cancel)]);
  } catch (thrown) {
    log.info("turn is no longer watched", { turn: turnId, error: errorText(thrown) });
  } finally {
    unwatch();
  }
}

/** Stores a piece of a file for the turn that follows. */
export async function takeTurnFile(
  piece: Extract<LocalRequest, { type: "turn_file" }>,
  files: LocalTurnFiles,
  rights: PeerRights,
): Promise<LocalAnswer> {
  const denied = deniedTurn(piece.agent, rights);
  if (denied !== undefined) return errorLine(denied);
  const taken = await files.take(piece);
  return taken.ok
    ? { type: "turn_file_taken", n: piece.n, next: taken.value }
    : errorLine(taken.error);
}

function deniedTurn(agent: string, rights: PeerRights): Refusal | undefined {
  if (!rights.mayDecide) return notFromRoot();
  return agent === rights.agent ? undefined : wrongAgent(agent, rights.agent);
}

/** Handles the lines on the connection of a turn; returns when the connection has ended. */
async function handleLines(
  next: () => Promise<string | undefined>,
  cancel: () => Promise<void>,
): Promise<void> {
  for (let line = await next(); line !== undefined; line = await next()) {
    const request = localRequest.safeParse(parseJsonLine(line));
    if (request.success && request.data.type === "turn_cancel") await cancel();
  }
}

function errorLine({ code, message }: Refusal): LocalAnswer {
  return { type: "error", code, message };
}

function notFromRoot() {
  return refusal(
    "turn-not-yours",
    "Cannot accept the turn: the caller is the agent itself, must be root (fleetctl turn)",
    { kind: "denied" },
  );
}

function unfit(bytes: number) {
  return refusal(
    "turn-text-invalid",
    `Cannot accept the turn: its text has ${bytes} bytes, must have 1 to ` +
      `${TURN_LIMITS.textBytesMax} and not only blanks`,
    { kind: "usage" },
  );
}

function tooMany() {
  return refusal(
    "turn-queue-full",
    `Cannot accept the turn: ${WATCHED_TURNS_MAX} turns from this host are open, ` +
      "one must end first",
  );
}
