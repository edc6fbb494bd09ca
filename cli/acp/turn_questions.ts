/**
 * The questions that programs ask a person during one turn, and the editor's answers to them. The
 * first answer counts, wherever it is given: one from elsewhere closes the question in the editor.
 *
 * @module
 */

import type { CreateElicitationRequest, CreateElicitationResponse } from "@agentclientprotocol/sdk";
import {
  type AskedQuestion,
  elicitationRequest,
  type FormAbilities,
  howToAnswer,
  type PersonAnswer,
  personAnswer,
  readQuestion,
} from "cli/acp/elicitation_form.ts";
import { PendingRequests, type RequestDeps, type SendDecision } from "cli/acp/pending_requests.ts";
import type { TurnUpdate } from "cli/ask_turn.ts";
import type { Result } from "core/result.ts";

/** Dependencies of `TurnQuestions`. */
export interface TurnQuestionsDeps extends RequestDeps, FormAbilities {
  readonly sessionId: string;
  /** Name of the agent. */
  readonly name: string;
  /** Whether the caller of this program may answer. */
  readonly mayDecide: boolean;
  /** Asks the editor; aborting `signal` withdraws the request. */
  elicit(
    request: CreateElicitationRequest,
    signal: AbortSignal,
  ): Promise<CreateElicitationResponse>;
  /** Sends the answer to the dial unit. */
  answer(question: AskedQuestion, answer: PersonAnswer): Promise<Result<unknown>>;
  /** Returns a command as it must be typed here. */
  command(line: string): string;
}

/** Maximum number of attempts, for an editor that does not check what the person fills in. */
const TRIES = 3;

/** Handles the questions of one turn. */
export class TurnQuestions {
  readonly #deps: TurnQuestionsDeps;
  readonly #pending: PendingRequests;

  constructor(deps: TurnQuestionsDeps) {
    this.#deps = deps;
    this.#pending = new PendingRequests(deps);
  }

  /** Handles an event of the turn; never waits for a person. */
  take(update: TurnUpdate): void {
    if (update.type !== "turn_event") return;
    const { kind, payload } = update;
    const id = String(payload.question_id);
    if (kind === "question_asked") this.#asked(payload);
    if (kind === "question_answered" && this.#pending.over(id) === "elsewhere") {
      const action = payload.action === "answered" ? "answered" : "declined";
      this.#deps.note(`The question was ${action} by ${String(payload.by)}.`, "aside");
    }
    if (kind === "question_ended" && this.#pending.over(id) === "elsewhere") {
      if (payload.state !== "expired") return;
      this.#deps.note("No answer was given in time, so the program continues without.", "aside");
    }
  }

  /** Closes the open questions in the editor, without an answer. */
  close(): void {
    for (const id of this.#pending.ids()) this.#pending.over(id);
  }

  #asked(payload: Readonly<Record<string, unknown>>): void {
    const { name, mayDecide, command, note } = this.#deps;
    const question = readQuestion(payload);
    if (question === undefined) return;
    const tellHow = () => note(howToAnswer(question, command), "plain");
    const request = elicitationRequest(question, { ...this.#deps, agent: name });
    if (!mayDecide || request === undefined) return tellHow();
    const ask = (signal: AbortSignal) => this.#ask(question, request, signal);
    this.#pending.show({ id: question.id, tellHow, ask });
  }

  async #ask(
    question: AskedQuestion,
    request: CreateElicitationRequest,
    signal: AbortSignal,
  ): Promise<SendDecision | undefined> {
    const { elicit, answer, note } = this.#deps;
    for (let tries = 0; tries < TRIES && !signal.aborted; tries++) {
      const given = personAnswer(question, await elicit(request, signal));
      if (!given.ok) {
        note(["The answer does not fit:", ...given.error].join("\n"), "plain");
        continue;
      }
      const { value } = given;
      return value === undefined ? undefined : () => answer(question, value);
    }
    return undefined;
  }
}
