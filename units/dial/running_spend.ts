/**
 * What a turn that still runs has used. Pure.
 *
 * @module
 */

import type { TokenCounts } from "core/usage/prices.ts";
import type { ModelSpend } from "core/usage/spend.ts";

/** What a turn that still runs has used. */
export interface RunningSpend {
  /** Model of the next call. */
  readonly model: string;
  /** Empty from an older runtime. */
  readonly turnId: string;
  /** Tokens of each model that answered; a fallback has a price that differs. */
  readonly used: readonly ModelTokens[];
}

/** Tokens of one model. */
export interface ModelTokens {
  readonly model: string;
  readonly tokens: TokenCounts;
}

/** A running turn, and the day on which it counts, as `YYYY-MM-DD` in UTC. */
export type RunningTurn = RunningSpend & { readonly day: string };

/** Returns what each model of a running turn has used, counted on this day. */
export function spendsOf({ used }: RunningSpend, day: string): readonly ModelSpend[] {
  return used.map(({ model, tokens }) => {
    const largestInput = tokens.input + tokens.cachedRead + tokens.cachedWrite;
    return { model, day, tokens, largestInput };
  });
}
