/**
 * Questions of this agent's programs to a person. Accepts the first answer from any surface and
 * hands it to the program. Every change is on disk, with its event, before it is reported.
 *
 * A question lives no longer than the program that waits. Questions that an earlier process of this
 * unit left open are withdrawn at the start.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { QUESTION_LIMITS } from "core/limits/question.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import type { QuestionForm, QuestionReply } from "core/questions/form.ts";
import {
  answerQuestion,
  createQuestion,
  deliverQuestion,
  endQuestion,
  isOpenQuestion,
  type Question,
  type QuestionAnswer,
  unknownQuestion,
} from "core/questions/question.ts";
import { err, ok, type Result } from "core/result.ts";
import { cutText } from "core/text/cut_text.ts";
import type { QuestionStore } from "units/dial/question_stores.ts";

/** One open question, as the program that asks sees it. */
export interface OpenQuestion {
  /** Resolves once: with the reply, or `cancel` when there is none. */
  readonly reply: Promise<QuestionReply>;
  /** Records that the program has received the reply. */
  delivered(): Result<void>;
  /** Withdraws the question. Does nothing once it has ended. */
  withdraw(): void;
}

/** An answer as it arrives from a surface; its values are not checked yet. */
export interface GivenAnswer extends Omit<QuestionAnswer, "at" | "values"> {
  readonly id: string;
  readonly values?: unknown;
}

/** The questions of one agent. */
export interface PersonQuestions {
  ask(form: QuestionForm): Result<OpenQuestion>;
  answer(given: GivenAnswer): Result<Question>;
  /** Open ones, oldest first; then ended ones among the 50 newest, last asked first. */
  list(): readonly Question[];
  /** Withdraws the questions of a turn that has ended. */
  turnEnded(turnId: string): void;
  /** Withdraws all questions: no program waits for them. */
  withdrawAll(): void;
}

/** Dependencies of the questions. */
export interface PersonQuestionDeps {
  readonly agent: string;
  readonly store: QuestionStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called after each write. */
  readonly onStored: () => void;
  /** Called when the first question opens and when the last one ends. */
  readonly onWaiting: (isWaiting: boolean) => void;
}

/** `list` returns the ended ones among this number of newest questions. */
const ENDED_SHOWN = 50;
/** Maximum length of the name of the person who answered, in bytes. */
const BY_BYTES_MAX = 512;

/** Opens the questions; withdraws those that an earlier process left open. */
export function openPersonQuestions(deps: PersonQuestionDeps): PersonQuestions {
  const questions = new AgentQuestions(deps);
  questions.withdrawAll();
  return questions;
}

interface Waiter {
  settle(reply: QuestionReply): void;
  stopTimer(): void;
}

class AgentQuestions implements PersonQuestions {
  readonly #deps: PersonQuestionDeps;
  readonly #waiters = new Map<string, Waiter>();

  constructor(deps: PersonQuestionDeps) {
    this.#deps = deps;
  }

  ask(form: QuestionForm): Result<OpenQuestion> {
    const { agent, store, clock, random } = this.#deps;
    if (this.#waiters.size >= QUESTION_LIMITS.openMax) return err(tooMany());
    const question = createQuestion({
      id: random.uuid(),
      agent,
      form,
      turnId: store.runningTurn(),
      now: clock.now(),
    });
    const { id, expiresAt } = question;
    const stored = this.#write(question, "question_asked", { ...form, expires: expiresAt });
    if (!stored.ok) return stored;
    const { promise: reply, resolve: settle } = Promise.withResolvers<QuestionReply>();
    const stopTimer = clock.after(QUESTION_LIMITS.askSeconds * 1000, () => {
      this.#end(id, "expired");
    });
    if (this.#waiters.size === 0) this.#deps.onWaiting(true);
    this.#waiters.set(id, { settle, stopTimer });
    return ok({
      reply,
      delivered: () => this.#delivered(id),
      withdraw: () => this.#end(id, "withdrawn"),
    });
  }

  answer({ id, by, ...given }: GivenAnswer): Result<Question> {
    const { store, clock } = this.#deps;
    const question = store.questions.find(id);
    if (question === undefined) {
      this.#reportUnknown(id);
      return err(unknownQuestion(id));
    }
    const answered = answerQuestion(question, {
      ...given,
      by: cutText(by, BY_BYTES_MAX).text,
      at: clock.now(),
    });
    if (!answered.ok) return answered;
    const { at: _, ...said } = answered.value.answer;
    const stored = this.#write(answered.value, "question_answered", said);
    if (!stored.ok) return stored;
    const { action, values = {} } = said;
    this.#settle(id, action === "declined" ? { action: "decline" } : { action: "accept", values });
    return answered;
  }

  list(): readonly Question[] {
    const { questions } = this.#deps.store;
    const ended = questions.newest(ENDED_SHOWN).filter((each) => !isOpenQuestion(each));
    return [...questions.open(), ...ended];
  }

  turnEnded(turnId: string): void {
    for (const { id, turnId: of } of this.#deps.store.questions.open()) {
      if (of === turnId) this.#end(id, "withdrawn");
    }
  }

  withdrawAll(): void {
    for (const { id } of this.#deps.store.questions.open()) this.#end(id, "withdrawn");
  }

  #delivered(id: string): Result<void> {
    const question = this.#deps.store.questions.find(id);
    if (question?.state !== "answered") return ok(undefined);
    return this.#write(deliverQuestion(question), "question_ended", { state: "delivered" });
  }

  #end(id: string, state: "expired" | "withdrawn"): void {
    const { store, log } = this.#deps;
    const question = store.questions.find(id);
    const ended = question === undefined ? undefined : endQuestion(question, state);
    if (ended !== undefined) {
      const stored = this.#write(ended, "question_ended", { state });
      if (!stored.ok) log.error("question not ended", { code: stored.error.code });
    }
    this.#settle(id, { action: "cancel" });
  }

  #settle(id: string, reply: QuestionReply): void {
    const waiter = this.#waiters.get(id);
    if (waiter === undefined) return;
    this.#waiters.delete(id);
    waiter.stopTimer();
    if (this.#waiters.size === 0) this.#deps.onWaiting(false);
    waiter.settle(reply);
  }

  #write(question: Question, kind: string, of: Readonly<Record<string, unknown>>): Result<void> {
    const { store, clock, onStored } = this.#deps;
    const payload = { question_id: question.id, ...of };
    const written = store.put(question, { at: clock.now(), kind, payload });
    if (written.ok) onStored();
    return written;
  }

  /** The surface that sent this answer must learn that it has no effect. */
  #reportUnknown(id: string): void {
    const { store, clock, log, onStored } = this.#deps;
    const payload = { question_id: id.slice(0, 64), state: "withdrawn" };
    const written = store.report({ at: clock.now(), kind: "question_ended", payload });
    if (written.ok) onStored();
    else log.error("question event not stored", { code: written.error.code });
  }
}

function tooMany() {
  return refusal(
    "question-unavailable",
    `Cannot ask a person: ${QUESTION_LIMITS.openMax} questions are open already, one must end ` +
      "first",
  );
}
