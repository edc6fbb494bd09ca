/**
 * Reports to agents the outcomes of their answers: each stored outcome, once, as soon as the agent
 * is connected. Decides nothing about an answer.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { DialSession, SessionRegistry } from "core/dial/sessions.ts";
import type { Result } from "core/result.ts";
import type { TeamchatStore } from "teamchat/store/store.ts";
import type { DeliveryProgress, Turn } from "teamchat/store/turn.ts";
import type { Closing } from "teamchat/store/turns.ts";

/** Reports outcomes. */
export interface Outcomes {
  /** Reports all outcomes that the agent has not received. */
  report(agent: string): void;
  /** Reports the stored outcome of one answer. */
  delivered(turn: Turn, how: Closing): void;
}

/** Dependencies. */
export interface OutcomesDeps {
  readonly store: Pick<TeamchatStore, "turns">;
  readonly registry: SessionRegistry;
  /** Called with the result of storing that the agent was notified. */
  readonly onRecorded: (recorded: Result<void>, agent: string) => void;
}

type ReportedTurn = Omit<Closing, "progress"> & {
  readonly progress: Pick<DeliveryProgress, "ids">;
};

/** Creates the reporter of outcomes. */
export function createOutcomes(
  { store, registry, onRecorded }: OutcomesDeps,
): Outcomes {
  /** Turns whose outcome was sent but not yet recorded as sent on disk, and the connection used. */
  const unrecorded = new Map<string, DialSession>();

  /** Sends an outcome. Returns false when the connection does not accept it. */
  function sendOutcome(
    session: DialSession,
    { turnId, sendId }: Pick<Turn, "turnId" | "sendId">,
    { outcome, reason, progress }: ReportedTurn,
  ): boolean {
    // A new connection needs it again: the first one may have closed before delivery.
    if (unrecorded.get(turnId) === session) return true;
    const isSent = session.send({
      ...(sendId === undefined
        ? { type: "delivery", turn_id: turnId }
        : { type: "owner_message_result", id: sendId }),
      outcome,
      ids: [...progress.ids],
      ...defined({ reason }),
    });
    if (!isSent) return false;
    unrecorded.set(turnId, session);
    void store.turns.markReported(turnId).then((recorded) => {
      if (unrecorded.get(turnId) === session) unrecorded.delete(turnId);
      onRecorded(recorded, session.agent);
    });
    return true;
  }

  return {
    report: (agent) => {
      const session = registry.get(agent);
      if (session === undefined) return;
      for (const { delivery, reason, progress, ...turn } of store.turns.unreported(agent)) {
        if (!sendOutcome(session, turn, { outcome: delivery, reason, progress })) return;
      }
    },
    delivered: (turn, how) => {
      const session = registry.get(turn.agent);
      if (session === undefined) return;
      sendOutcome(session, turn, { ...how, progress: how.progress ?? turn.progress });
    },
  };
}
