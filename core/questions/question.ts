/**
 * A question of a program to a person: its states and transitions. Callers pass in times. No I/O.
 *
 * | State | Event | Next |
 * |---|---|---|
 * | asked | a person answers or declines in time | answered |
 * | asked | it expires without an answer | expired |
 * | answered | the program has received the answer | delivered |
 * | asked, answered | the program or the turn has ended | withdrawn |
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { QUESTION_LIMITS } from "core/limits/question.ts";
import type { QuestionForm, QuestionValues } from "core/questions/form.ts";
import { checkValues } from "core/questions/values.ts";
import { err, ok, type Result } from "core/result.ts";

/** States of a question. */
export const QUESTION_STATES = [
  "asked",
  "answered",
  "delivered",
  "expired",
  "withdrawn",
] as const;
/** One of `QUESTION_STATES`. */
export type QuestionState = typeof QUESTION_STATES[number];

/** Reason of an agent's state `waiting-approval` while a question waits and no approval does. */
export const QUESTION_WAITS = "a question waits for an answer";

/** What a person did. */
export const ANSWER_ACTIONS = ["answered", "declined"] as const;

/** The answer of a person. */
export interface QuestionAnswer {
  readonly action: typeof ANSWER_ACTIONS[number];
  /** Absent when the person declined. */
  readonly values?: QuestionValues | undefined;
  /** Who answered: `owner:<email>` on the page, `the operator` on a command line. */
  readonly by: string;
  /** Where the answer was given: `page`, `cli`. */
  readonly surface: string;
  readonly at: number;
}

/** One question. */
export interface Question {
  readonly id: string;
  readonly agent: string;
  readonly form: QuestionForm;
  /** The turn in which it was asked; absent outside of turns. */
  readonly turnId?: string | undefined;
  readonly askedAt: number;
  readonly expiresAt: number;
  readonly state: QuestionState;
  readonly answer?: QuestionAnswer | undefined;
}

/** Creates a question in state `asked`. */
export function createQuestion(of: {
  readonly id: string;
  readonly agent: string;
  readonly form: QuestionForm;
  readonly turnId: string | undefined;
  readonly now: number;
}): Question {
  const { id, agent, form, turnId, now } = of;
  return {
    id,
    agent,
    form,
    ...defined({ turnId }),
    askedAt: now,
    expiresAt: now + QUESTION_LIMITS.askSeconds * 1000,
    state: "asked",
  };
}

/** Returns whether the question can still change state. */
export function isOpenQuestion({ state }: Pick<Question, "state">): boolean {
  return state === "asked" || state === "answered";
}

/** Records an answer that fits the form. Only the first one counts. */
export function answerQuestion(
  question: Question,
  given: Omit<QuestionAnswer, "values"> & { readonly values?: unknown },
): Result<Question & { readonly answer: QuestionAnswer }> {
  const { id, form } = question;
  const state = question.state === "asked" && given.at >= question.expiresAt
    ? "expired"
    : question.state;
  if (state !== "asked") return err(closedQuestion({ ...question, state }));
  const { values, ...rest } = given;
  if (rest.action === "declined") return ok({ ...question, state: "answered", answer: rest });
  const checked = checkValues(form, values ?? {});
  return checked.ok
    ? ok({ ...question, state: "answered", answer: { ...rest, values: checked.value } })
    : err(unfitAnswer(id, checked.error));
}

/** Records that the program has received the answer. */
export function deliverQuestion(question: Question): Question {
  return question.state === "answered" ? { ...question, state: "delivered" } : question;
}

/** Ends an open question; undefined when it is closed already. */
export function endQuestion(
  question: Question,
  state: "expired" | "withdrawn",
): Question | undefined {
  return isOpenQuestion(question) ? { ...question, state } : undefined;
}

const LIST = { hints: ["fleetctl questions list"] };

/** Returns the refusal of an answer to a question that waits for none. */
function closedQuestion({ id, state, answer }: {
  readonly id: string;
  readonly state: QuestionState;
  readonly answer?: Pick<QuestionAnswer, "action" | "by"> | undefined;
}): Refusal {
  if (state === "expired") {
    return refusal("question-expired", `Cannot answer question "${id}": it has expired`, LIST);
  }
  if (state === "withdrawn") {
    return refusal(
      "question-withdrawn",
      `Cannot answer question "${id}": the agent no longer waits for it`,
      LIST,
    );
  }
  const by = answer?.by.replace(/^owner:/, "") ?? "a person";
  const { action = "answered" } = answer ?? {};
  return refusal(
    "question-answered",
    `Cannot answer question "${id}": it was already ${action} by ${by}`,
    LIST,
  );
}

/** Returns the refusal of an answer that does not fit the form. */
export function unfitAnswer(id: string, faults: readonly string[]): Refusal {
  return refusal(
    "answer-unfit",
    `Cannot answer question "${id}": ${faults[0] ?? "it is unusable"}`,
    { kind: "usage", details: faults.slice(1), hints: [`fleetctl questions show ${id}`] },
  );
}

/** Returns the refusal of an answer to a question that the agent does not have. */
export function unknownQuestion(id: string): Refusal {
  return refusal(
    "question-unknown",
    `Cannot answer question ${
      JSON.stringify(id.slice(0, 64))
    }: this agent has no question with that id`,
    LIST,
  );
}
