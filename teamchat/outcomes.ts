/**
 * Tells agents what became of their answers: each outcome that is stored, once, as soon as the
 * agent is there. Decides nothing about an answer.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { DialSession, SessionRegistry } from "core/dial/sessions.ts";
import type { Result } from "core/result.ts";
import type { TeamchatStore } from "teamchat/store/store.ts";
import type { DeliveryProgress, Turn } from "teamchat/store/turn.ts";
import type { Closing } from "teamchat/store/turns.ts";

/** Telling. */
export interface Outcomes {
  /** Tells the agent everything that it was not told. */
  tell(agent: string): void;
  /** Tells the agent what became of one answer, which is stored. */
  delivered(turn: Turn, how: Closing): void;
}

/** What it is made of. */
export interface OutcomesParts {
  readonly store: Pick<TeamchatStore, "turns">;
  readonly registry: SessionRegistry;
  /** Told whether it was noted that the agent knows. */
  readonly onNoted: (noted: Result<void>, agent: string) => void;
}

type Told = Omit<Closing, "progress"> & {
  readonly progress: Pick<DeliveryProgress, "ids">;
};

/** Makes it. */
export function createOutcomes({ store, registry, onNoted }: OutcomesParts): Outcomes {
  /** Turns whose outcome was told, which is not on the disk yet, and over which connection. */
  const telling = new Map<string, DialSession>();

  /** Tells an outcome; false when the connection takes nothing. */
  function tellOne(
    session: DialSession,
    { turnId, sendId }: Pick<Turn, "turnId" | "sendId">,
    { outcome, reason, progress }: Told,
  ): boolean {
    // Another connection is a reason to tell it again: the first may have ended with it.
    if (telling.get(turnId) === session) return true;
    const isSent = session.send({
      ...(sendId === undefined
        ? { type: "delivery", turn_id: turnId }
        : { type: "owner_message_result", id: sendId }),
      outcome,
      ids: [...progress.ids],
      ...defined({ reason }),
    });
    if (!isSent) return false;
    telling.set(turnId, session);
    void store.turns.markTold(turnId).then((noted) => {
      if (telling.get(turnId) === session) telling.delete(turnId);
      onNoted(noted, session.agent);
    });
    return true;
  }

  return {
    tell: (agent) => {
      const session = registry.get(agent);
      if (session === undefined) return;
      for (const { delivery, reason, progress, ...turn } of store.turns.untold(agent)) {
        if (!tellOne(session, turn, { outcome: delivery, reason, progress })) return;
      }
    },
    delivered: (turn, how) => {
      const session = registry.get(turn.agent);
      if (session === undefined) return;
      tellOne(session, turn, { ...how, progress: how.progress ?? turn.progress });
    },
  };
}
