/**
 * Ends what belongs to an owner whose agent is another now, or none: turns that wait, run or are
 * being answered, messages of the agent by itself, files that were offered, what the owner did with
 * answers. Nothing more of it is said to anybody; files on their way end by themselves
 * (`Owners.gone`). Everything else is left as it is. Where the disk gives or takes nothing it is
 * tried again until it does.
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

/** What it takes. */
export interface DisownParts {
  readonly store: Pick<TeamchatStore, "turns" | "ownerFiles" | "ownerEvents">;
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

/** Ends it; false when the disk did not take all of it. Throws what the disk does not give. */
function disown(parts: DisownParts): boolean {
  const { store, owners, registry, replies, log } = parts;
  const isForeign = (of: Owned) => !isOwned(of, owners);
  let isWhole = true;
  const check = ({ ok: isOk }: Result<unknown>, what: string, agent: string) => {
    if (isOk) return;
    isWhole = false;
    log.error(what, { agent });
  };
  for (const turn of store.turns.open().filter(isForeign)) {
    const { turnId, agent } = turn;
    // It is found again before it is handed out; its answer goes nowhere.
    check(endForeign(turnId, parts), "turn of a former owner not ended", agent);
    registry.get(agent)?.send({ type: "cancel", turn_id: turnId });
    replies.drop(turnId);
  }
  for (const { fileId, agent } of store.ownerFiles.offered().filter(isForeign)) {
    check(store.ownerFiles.lapse(fileId), "offer not ended", agent);
  }
  for (const { agent, owner } of store.ownerEvents.owners().filter(isForeign)) {
    check(store.ownerEvents.drop(agent, owner), "events of a former owner not ended", agent);
  }
  return isWhole;
}

/** Ending, as often as it takes. */
export interface Disowning {
  /** After the owners changed. Never throws what the disk does not give. */
  run(): void;
  /** Whether something of former owners is left, because the disk was not to be had. */
  isBehind(): boolean;
  close(): void;
}

/** When the disk gave or took nothing, the next try. */
const RETRY_MS = 5_000;

/** Makes it. */
export function createDisowning(parts: DisownParts): Disowning {
  const { clock, log } = parts;
  let isBehind = false;
  let isClosed = false;
  let cancel = () => {};
  const attempt = (): boolean => {
    try {
      return disown(parts);
    } catch (thrown) {
      if (!(thrown instanceof FileFault)) throw thrown;
      log.error("what former owners left is not read", { error: errorText(thrown) });
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
