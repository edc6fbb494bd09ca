/**
 * The tokens of a turn: the sum over the answers of the model. Pure.
 *
 * @module
 */

import type { AnswerTokens } from "units/agent_loop/model/answer.ts";

/** The tokens of a turn. */
export interface TurnTokens extends AnswerTokens {
  /** Id of the model that is in use. */
  readonly model: string;
  /** The tokens of each model that answered. */
  readonly models: readonly (AnswerTokens & { readonly model: string })[];
  /** The endpoint did not count every answer. */
  readonly isPartial: boolean;
}

/** Adds up the tokens of a turn. */
export class TokenSum {
  #model = UNNAMED;
  readonly #sums = new Map<string, AnswerTokens>();
  #isPartial = false;

  /** Sets the model of the next answers. The first one also gets those before it. */
  use(model: string): void {
    const before = this.#sums.get(UNNAMED);
    this.#sums.delete(UNNAMED);
    this.#model = model;
    if (before !== undefined) this.add(before);
  }

  /** Adds an answer; undefined when the endpoint did not count it. */
  add(tokens: AnswerTokens | undefined, model = this.#model): void {
    if (tokens === undefined) this.#isPartial = true;
    else this.#sums.set(model, sum(this.#sums.get(model) ?? NO_TOKENS, tokens));
  }

  /** Returns the sum; undefined when no answer was counted. */
  total(): TurnTokens | undefined {
    if (this.#sums.size === 0) return undefined;
    const models = [...this.#sums].map(([model, tokens]) => ({ model, ...tokens }));
    const all = [...this.#sums.values()].reduce(sum, NO_TOKENS);
    return { ...all, model: this.#model, models, isPartial: this.#isPartial };
  }
}

const NO_TOKENS: AnswerTokens = { input: 0, output: 0, cachedRead: 0, cachedWrite: 0 };
/** Stands for the primary model until it is known. */
const UNNAMED = "";

function sum(left: AnswerTokens, right: AnswerTokens): AnswerTokens {
  return {
    input: left.input + right.input,
    output: left.output + right.output,
    cachedRead: left.cachedRead + right.cachedRead,
    cachedWrite: left.cachedWrite + right.cachedWrite,
  };
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
