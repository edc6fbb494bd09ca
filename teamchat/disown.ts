/**
 * Ends what belongs to an owner whose agent is another now, or none: turns that wait, run or are being
 * answered, messages of the agent by itself, files that were offered. Nothing more of it is said to
 * anybody; files on their way end by themselves (`Owners.gone`). Everything else is left as it is.
 *
 * @module
 */

import type { DialSession, SessionRegistry } from "core/dial/sessions.ts";
import type { AgentName, ObjectId } from "core/names.ts";
import type { Clock, Log } from "core/ports.ts";
import type { Result } from "core/result.ts";
import type { Replies } from "teamchat/reply/replies.ts";
import type { TeamchatStore } from "teamchat/store/store.ts";

/** What it takes. */
export interface DisownParts {
  readonly store: Pick<TeamchatStore, "turns" | "ownerFiles">;
  readonly owners: ReadonlyMap<ObjectId, AgentName>;
  readonly registry: Pick<SessionRegistry, "get">;
  readonly replies: Pick<Replies, "drop">;
  readonly clock: Clock;
  readonly log: Log;
}

/** What is somebody's, and of whose agent. */
interface Owned {
  readonly owner: string;
  readonly agent: string;
}

/** Tells whether an agent is still its owner's. */
export function isOwned({ owner, agent }: Owned, owners: DisownParts["owners"]): boolean {
  return owners.get(owner as ObjectId) === agent;
}

/** Ends a turn whose agent is not its owner's any more. */
export function endForeign(
  turnId: string,
  { store, clock }: { readonly store: Pick<TeamchatStore, "turns">; readonly clock: Clock },
): Result<unknown> {
  const how = { outcome: "cancelled", reason: "owner gone" } as const;
  const asked = store.turns.requestCancel(turnId);
  return asked.ok ? store.turns.end(turnId, how, clock.now()) : asked;
}

/** Ends it, after the owners changed and before anything is handed out at start. */
export function disown(parts: DisownParts): void {
  const { store, owners, registry, replies, log } = parts;
  const isForeign = (of: Owned) => !isOwned(of, owners);
  for (const turn of store.turns.open().filter(isForeign)) {
    const { turnId, agent } = turn;
    // It is found again before it is handed out, and at the next start; its answer goes nowhere.
    if (!endForeign(turnId, parts).ok) {
      log.error("turn of a former owner not ended", { turn: turnId, agent });
    }
    registry.get(agent)?.send({ type: "cancel", turn_id: turnId });
    replies.drop(turnId);
  }
  for (const { fileId, agent } of store.ownerFiles.offered().filter(isForeign)) {
    if (!store.ownerFiles.lapse(fileId).ok) log.error("offer not ended", { agent });
  }
}

/** Stops turns that ended here while their agent was away. */
export function cancelEnded(
  session: Pick<DialSession, "send">,
  openTurns: readonly string[],
  { turns }: Pick<TeamchatStore, "turns">,
): void {
  for (const turnId of openTurns) {
    const turn = turns.get(turnId);
    const isOver = turn?.state === "ended" || turn?.state === "closed";
    if (isOver && turn?.isCancelRequested) session.send({ type: "cancel", turn_id: turnId });
  }
}
