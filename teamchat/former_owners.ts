/**
 * Ends everything of an owner whose agent was changed or removed: turns that wait, run or are
 * being answered, the agent's own messages, offered files, and the owner's actions on answers.
 * Nothing more of it is sent. File transfers in flight are aborted by `Owners.gone`. Everything
 * else is unchanged. After a disk failure it is retried until it succeeds.
 *
 * @module
 */

import type { DialSession, SessionRegistry } from "core/dial/sessions.ts";
import type { AgentName, ObjectId } from "core/names.ts";
import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import { FileFault } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import type { Result } from "core/result.ts";
import type { Replies } from "teamchat/reply/replies.ts";
import type { TeamchatStore } from "teamchat/store/store.ts";

/** Dependencies. */
export interface FormerOwnerCleanupDeps {
  readonly store: Pick<TeamchatStore, "turns" | "ownerFiles" | "ownerEvents">;
  readonly owners: ReadonlyMap<ObjectId, AgentName>;
  readonly registry: Pick<SessionRegistry, "get">;
  readonly replies: Pick<Replies, "drop">;
  readonly clock: Clock;
  readonly log: Log;
}

/** An item's owner and agent. */
interface Owned {
  readonly owner: string;
  readonly agent: string;
}

/** Reports whether an agent still belongs to its owner. */
export function isOwned(
  { owner, agent }: Owned,
  owners: FormerOwnerCleanupDeps["owners"],
): boolean {
  return owners.get(owner as ObjectId) === agent;
}

/** Ends a turn whose agent no longer belongs to its owner. */
export function endFormerOwnersTurn(
  turnId: string,
  { store, clock }: { readonly store: Pick<TeamchatStore, "turns">; readonly clock: Clock },
): Result<unknown> {
  const how = { outcome: "cancelled", reason: "owner gone" } as const;
  const cancelled = store.turns.requestCancel(turnId);
  return cancelled.ok ? store.turns.end(turnId, how, clock.now()) : cancelled;
}

/**
 * Ends turns, file offers and events of former owners. Returns false when a write failed; throws
 * when a read fails.
 */
function endAll(deps: FormerOwnerCleanupDeps): boolean {
  const { store, owners, registry, replies, log } = deps;
  const isFormerOwner = (of: Owned) => !isOwned(of, owners);
  let isWhole = true;
  const check = ({ ok: isOk }: Result<unknown>, what: string, agent: string) => {
    if (isOk) return;
    isWhole = false;
    log.error(what, { agent });
  };
  for (const turn of store.turns.open().filter(isFormerOwner)) {
    const { turnId, agent } = turn;
    // If this fails, the turn is checked again before it is sent; its answer is sent to no one.
    check(endFormerOwnersTurn(turnId, deps), "turn of a former owner not ended", agent);
    registry.get(agent)?.send({ type: "cancel", turn_id: turnId });
    replies.drop(turnId);
  }
  for (const { fileId, agent } of store.ownerFiles.offered().filter(isFormerOwner)) {
    check(store.ownerFiles.lapse(fileId), "offer not ended", agent);
  }
  for (const { agent, owner } of store.ownerEvents.owners().filter(isFormerOwner)) {
    check(store.ownerEvents.drop(agent, owner), "events of a former owner not ended", agent);
  }
  return isWhole;
}

/** Ends what former owners left, with retries. */
export interface FormerOwnerCleanup {
  /** Call after the owners changed. Never throws on a disk failure. */
  run(): void;
  /** Whether items of former owners are left because of a disk failure. */
  isBehind(): boolean;
  close(): void;
}

/** Delay before a retry after a disk failure. */
const RETRY_MS = 5_000;

/** Creates the removal of what former owners left. */
export function createFormerOwnerCleanup(deps: FormerOwnerCleanupDeps): FormerOwnerCleanup {
  const { clock, log } = deps;
  let isBehind = false;
  let isClosed = false;
  let cancel = () => {};
  const attempt = (): boolean => {
    try {
      return endAll(deps);
    } catch (thrown) {
      if (!(thrown instanceof FileFault)) throw thrown;
      log.error("cannot read items of former owners", { error: errorText(thrown) });
      return false;
    }
  };
  const run = () => {
    cancel();
    if (isClosed) return;
    isBehind = !attempt();
    if (isBehind) cancel = clock.after(RETRY_MS, run);
  };
  return {
    run,
    isBehind: () => isBehind,
    close: () => {
      isClosed = true;
      cancel();
    },
  };
}

/** Sends a cancel for turns that were cancelled and ended here while their agent was disconnected. */
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
