/**
 * The tokens of a turn: the sum over the answers of the model. Pure.
 *
 * @module
 */

import type { AnswerTokens } from "units/agent_loop/model/answer.ts";

/** The tokens of a turn. */
export interface TurnTokens extends AnswerTokens {
  /** Id of the model. */
  readonly model: string;
  /** The endpoint did not count every answer. */
  readonly isPartial: boolean;
}

/** Adds up the tokens of a turn. */
export class TokenSum {
  #model = "";
  #sum: AnswerTokens | undefined;
  #isPartial = false;

  /** Sets the model. */
  use(model: string): void {
    this.#model = model;
  }

  /** Adds an answer; undefined when the endpoint did not count it. */
  add(tokens: AnswerTokens | undefined): void {
    if (tokens === undefined) {
      this.#isPartial = true;
      return;
    }
    const before = this.#sum ?? { input: 0, output: 0, cachedRead: 0, cachedWrite: 0 };
    this.#sum = {
      input: before.input + tokens.input,
      output: before.output + tokens.output,
      cachedRead: before.cachedRead + tokens.cachedRead,
      cachedWrite: before.cachedWrite + tokens.cachedWrite,
    };
  }

  /** Returns the sum; undefined when no answer was counted. */
  total(): TurnTokens | undefined {
    const model = this.#model;
    return this.#sum && { ...this.#sum, model, isPartial: this.#isPartial };
  }
}

/** Returns the tokens of an answer as a record stores them. */
export function storedTokens(tokens: AnswerTokens | undefined) {
  return tokens && {
    input: tokens.input,
    output: tokens.output,
    cached_read: tokens.cachedRead,
    cached_write: tokens.cachedWrite,
  };
}
