/**
 * Question storage for an agent with several gateways. The store of the connection to the page
 * keeps every question, so that the page and the command line show all of them. The events of a
 * question that a turn from team chat asks also go to the gateway of team chat, which notifies the
 * owner.
 *
 * @module
 */

import type { Result } from "core/result.ts";
import type { Question } from "core/questions/question.ts";
import type { DialStore, EventDraft } from "units/dial/store.ts";

/** An event about a question. */
export type QuestionEvent = Pick<EventDraft, "at" | "kind" | "payload">;

/** Where questions are stored. */
export interface QuestionStore {
  readonly questions: DialStore["questions"];
  /** The turn that runs. The runtime runs one at a time, from any gateway. */
  runningTurn(): string | undefined;
  /** Stores a question with its event. */
  put(question: Question, event: QuestionEvent): Result<void>;
  /** Stores an event about an unknown question. */
  report(event: QuestionEvent): Result<void>;
}

/** Joins the store of the connection to the page with that of team chat. */
export function joinQuestionStores(own: DialStore, teams?: DialStore): QuestionStore {
  return {
    questions: own.questions,
    runningTurn: () => own.runningTurns()[0] ?? teams?.runningTurns()[0],
    put: (question, event) => {
      const { turnId } = question;
      const isOfChat = turnId !== undefined && teams?.stateOf(turnId) !== undefined;
      // The page does not know the turns of team chat.
      const drafts = [isOfChat ? event : { ...event, turnId }];
      const written = own.append(drafts, undefined, { question });
      return written.ok && isOfChat ? teams.append([{ ...event, turnId }]) : written;
    },
    report: (event) => own.append([event]),
  };
}
