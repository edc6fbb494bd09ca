/**
 * What a turn that still runs has used. Data only.
 *
 * @module
 */

import type { TokenCounts } from "core/usage/prices.ts";

/** Tokens of a turn that still runs. */
export interface RunningSpend {
  readonly model: string;
  /** Empty from an older runtime. */
  readonly turnId: string;
  readonly tokens: TokenCounts;
}

/** A running turn, and the day on which it counts, as `YYYY-MM-DD` in UTC. */
export type RunningTurn = RunningSpend & { readonly day: string };
