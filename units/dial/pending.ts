/**
 * What waits for a person at one dial unit: calls that need a decision, and questions of programs.
 * Wires both to the stores of the agent's gateways and to the frames that arrive from them.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import { joinApprovalStores } from "units/dial/approval_stores.ts";
import { type Approvals, openApprovals } from "units/dial/approvals.ts";
import type {
  DecisionFrame,
  PersonAnswerFrame,
  TurnHandlers,
} from "units/dial/gateway_connection.ts";
import { openPersonQuestions, type PersonQuestions } from "units/dial/person_questions.ts";
import { joinQuestionStores } from "units/dial/question_stores.ts";
import type { DialStore } from "units/dial/store.ts";

/** What can wait. */
export type Waiting = "approval" | "question";

/** What waits, and the handlers of a gateway connection about it. */
export interface Pending {
  readonly approvals: Approvals;
  readonly personQuestions: PersonQuestions;
  readonly handlers: Omit<TurnHandlers, "runtime" | "ceilings" | "cuts">;
  /** Stops all timers; what is open stays open. */
  close(): void;
}

/** Dependencies of what waits. */
export interface PendingDeps {
  readonly agent: string;
  /** Store of the connection for turns of this host. */
  readonly own: DialStore;
  readonly teams?: DialStore;
  /** Time for a decision about a call; the default when absent. */
  readonly askSeconds?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called after each write. */
  readonly onStored: () => void;
  /** Called when the first one of a kind opens and when the last one ends. */
  readonly onWaiting: (what: Waiting, isWaiting: boolean) => void;
}

/** Opens both; ends what an earlier process left open. */
export function openPending({ own, teams, onWaiting, ...shared }: PendingDeps): Pending {
  const { log } = shared;
  const stores = [own, ...(teams === undefined ? [] : [teams])];
  const approvals = openApprovals({
    ...shared,
    goesOn: (turnId) =>
      stores.some((store) =>
        store.stateOf(turnId) === "running" && store.progress.of(turnId).goesOn
      ),
    store: joinApprovalStores(own, ...(teams === undefined ? [] : [teams])),
    onWaiting: (isWaiting) => onWaiting("approval", isWaiting),
  });
  const personQuestions = openPersonQuestions({
    ...shared,
    store: joinQuestionStores(own, teams),
    onWaiting: (isWaiting) => onWaiting("question", isWaiting),
  });
  return {
    approvals,
    personQuestions,
    close: () => approvals.close(),
    handlers: {
      withdrawApprovals: (turnId) => approvals.turnEnded(turnId),
      onResumed: (turnId) => approvals.turnResumed(turnId),
      onEnded: (turnId) => {
        approvals.turnEnded(turnId);
        personQuestions.turnEnded(turnId);
      },
      onDecision: (frame) => decide(approvals, frame, log),
      onPersonAnswer: (frame) => answer(personQuestions, frame, log),
    },
  };
}

/**
 * Applies a decision that arrived through a gateway. If several decisions about one approval
 * arrive, the first counts.
 */
function decide(approvals: Approvals, frame: DecisionFrame, log: Log): void {
  const { approval_id: id, digest, decision, by, surface, reason } = frame;
  const decided = approvals.decide({ id, digest, decision, by, surface, reason });
  if (!decided.ok) log.info("decision not accepted", { id, code: decided.error.code });
}

/** Applies an answer that arrived through a gateway; the first one counts. */
function answer(questions: PersonQuestions, frame: PersonAnswerFrame, log: Log): void {
  const { question_id: id, action, by, surface, values } = frame;
  const answered = questions.answer({ id, action, by, surface, ...defined({ values }) });
  if (!answered.ok) log.info("answer not accepted", { id, code: answered.error.code });
}
