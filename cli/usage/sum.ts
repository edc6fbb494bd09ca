/**
 * Sums the usage of agents by agent, model or day, and derives its cost. What is not known stays
 * visible: turns without figures, models without a price. Pure.
 *
 * @module
 */

import type { AgentUsage } from "cli/usage/read.ts";
import type { UsageOfModel } from "core/dial/usage_shapes.ts";
import { costOf, type PriceTable, type TokenCounts } from "core/usage/prices.ts";

/** What a row is about. */
export const USAGE_KEYS = ["agent", "model", "day"] as const;
/** One of `USAGE_KEYS`. */
export type UsageKey = typeof USAGE_KEYS[number];

/** The usage of one agent, model or day. */
export interface UsageRow {
  /** Null in a table by model: the turns without figures, whose model is unknown. */
  readonly key: string | null;
  readonly turns: number;
  readonly unknownTurns: number;
  readonly partialTurns: number;
  readonly tokens: TokenCounts;
  /** Undefined when nothing has a price. */
  readonly usd: number | undefined;
  /** The true cost may be higher. */
  readonly isMinimum: boolean;
  readonly unpricedModels: readonly string[];
  /** Models whose price is for shorter prompts than this row may have. */
  readonly longPromptModels: readonly string[];
}

/** All rows, and their sum. */
export interface UsageTotals {
  readonly rows: readonly UsageRow[];
  readonly total: UsageRow;
}

/** Sums usage, one row for each key, in the order of the keys. */
export function sumUsage(
  usage: readonly AgentUsage[],
  by: UsageKey,
  prices: PriceTable,
): UsageTotals {
  const rows = new Map<string | null, OpenRow>();
  const total = new OpenRow("total");
  const rowOf = (key: string | null) => {
    const row = rows.get(key) ?? new OpenRow(key);
    rows.set(key, row);
    return row;
  };
  for (const { agent, days, models } of usage) {
    for (const of of days) {
      total.addTurns(of.turns, of.unknown_turns, of.partial_turns);
      if (by !== "model") {
        rowOf(by === "agent" ? agent : of.day)
          .addTurns(of.turns, of.unknown_turns, of.partial_turns);
      } else if (of.unknown_turns > 0) rowOf(null).addTurns(of.unknown_turns, of.unknown_turns, 0);
    }
    for (const of of models) {
      const row = rowOf(by === "agent" ? agent : of[by]);
      if (by === "model") row.addTurns(of.turns, 0, of.partial_turns);
      row.addTokens(of, prices);
      total.addTokens(of, prices);
    }
  }
  const order = (row: UsageRow) => row.key ?? "\uffff";
  return {
    rows: [...rows.values()].map((row) => row.close())
      .sort((a, b) => order(a) < order(b) ? -1 : 1),
    total: total.close(),
  };
}

class OpenRow {
  readonly #key: string | null;
  readonly #turns = { all: 0, unknown: 0, partial: 0 };
  readonly #tokens = { input: 0, output: 0, cachedRead: 0, cachedWrite: 0 };
  readonly #unpriced = new Set<string>();
  readonly #long = new Set<string>();
  #usd: number | undefined;

  constructor(key: string | null) {
    this.#key = key;
  }

  addTurns(all: number, unknown: number, partial: number): void {
    this.#turns.all += all;
    this.#turns.unknown += unknown;
    this.#turns.partial += partial;
  }

  addTokens(of: UsageOfModel, prices: PriceTable): void {
    const { model, day } = of;
    const tokens: TokenCounts = {
      input: of.input_tokens,
      output: of.output_tokens,
      cachedRead: of.cached_read_tokens,
      cachedWrite: of.cached_write_tokens,
    };
    for (const kind of ["input", "output", "cachedRead", "cachedWrite"] as const) {
      this.#tokens[kind] += tokens[kind];
    }
    const cost = costOf(prices, { model, day, tokens, largestInput: of.largest_input_tokens });
    if (cost !== undefined) this.#usd = (this.#usd ?? 0) + cost.usd;
    if (cost?.lacksPrice !== false) this.#unpriced.add(model);
    if (cost?.mayBeLong === true) this.#long.add(model);
  }

  close(): UsageRow {
    const { all, unknown, partial } = this.#turns;
    return {
      key: this.#key,
      turns: all,
      unknownTurns: unknown,
      partialTurns: partial,
      tokens: { ...this.#tokens },
      usd: this.#usd,
      isMinimum: unknown + partial + this.#unpriced.size + this.#long.size > 0,
      unpricedModels: [...this.#unpriced].sort(),
      longPromptModels: [...this.#long].sort(),
    };
  }
}
