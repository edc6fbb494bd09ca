/**
 * What an agent has spent, against its ceilings: levels, allowances, unknown prices, and a clock
 * that is set back.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type Ceiling, parseCeilings, type Stretch } from "core/usage/ceiling.ts";
import { parsePrices, type PriceTable } from "core/usage/prices.ts";
import {
  type Allowance,
  type ModelSpend,
  ownerMore,
  type SpendQuestion,
  stateOfCeiling,
  stoppingCeiling,
  suggestedMore,
} from "core/usage/spend.ts";

const NOON = Date.parse("2026-11-23T12:00:00Z");
const DAY_START = Date.parse("2026-11-23T00:00:00Z");

function prices(): PriceTable {
  const parsed = parsePrices(
    `models:
  m:
    source: test
    prompt_tokens_max: 9000000
    prices: [{ from: 2026-01-01, input: 1, output: 10 }]
`,
    "prices.yaml",
  );
  assert.ok(parsed.ok);
  return parsed.value;
}
const PRICES = prices();

function ceiling(text: string): Ceiling {
  const parsed = parseCeilings(text);
  assert.ok(parsed.ok && parsed.value[0] !== undefined);
  return parsed.value[0];
}

/** Tokens of a turn that ended at a time. */
interface Turn {
  readonly at: number;
  readonly model?: string;
  readonly input?: number;
  readonly output?: number;
  readonly cachedRead?: number;
}

function question(
  turns: readonly Turn[],
  more: Partial<Omit<SpendQuestion, "spendingOf">> & { readonly isPartial?: boolean } = {},
): SpendQuestion {
  const { isPartial = false, ...rest } = more;
  return {
    now: NOON,
    allowances: [],
    prices: PRICES,
    ...rest,
    spendingOf: ({ since, until }: Stretch) => ({
      isPartial,
      models: turns.filter(({ at }) => at >= since && at < until).map((turn): ModelSpend => ({
        model: turn.model ?? "m",
        day: new Date(turn.at).toISOString().slice(0, 10),
        tokens: {
          input: turn.input ?? 0,
          output: turn.output ?? 0,
          cachedRead: turn.cachedRead ?? 0,
          cachedWrite: 0,
        },
        largestInput: turn.input ?? 0,
      })),
    }),
  };
}

const spent = (input: number) => [{ at: NOON, input }];

Deno.test("a ceiling is near from four fifths of its limit, and reached at its limit", () => {
  const table = [[0, "below"], [799, "below"], [800, "near"], [999, "near"], [1_000, "reached"]];
  for (const [input, level] of table) {
    const state = stateOfCeiling(ceiling("day=1000-tokens"), question(spent(Number(input))));
    assert.equal(state.level, level, String(input));
    assert.equal(state.spent, input);
  }
});

Deno.test("dollars follow from the price table, without noise of the multiplication", () => {
  const turns = Array.from({ length: 10 }, () => ({ at: NOON, input: 100_000 }));
  assert.equal(stateOfCeiling(ceiling("day=1usd"), question(turns)).level, "reached");
  const state = stateOfCeiling(ceiling("day=5usd"), question([{ at: NOON, output: 100_000 }]));
  assert.deepEqual([state.spent, state.level], [1, "below"]);
});

Deno.test("a turn counts only in the periods in which it ended", () => {
  const turns = [
    { at: DAY_START - 1, input: 1 },
    { at: DAY_START, input: 10 },
    { at: NOON - 1, input: 100 },
    { at: NOON, input: 1_000 },
  ];
  const sum = (text: string) => stateOfCeiling(ceiling(text), question(turns)).spent;
  assert.equal(sum("hour=1m-tokens"), 1_000);
  assert.equal(sum("day=1m-tokens"), 1_110);
  assert.equal(sum("month=1m-tokens"), 1_111);
});

Deno.test("an allowance ends with its period, and applies to one ceiling only", () => {
  const allowance: Allowance = { key: "day-tokens", since: DAY_START, more: 500, byOwner: 200 };
  const of = (text: string, now = NOON) =>
    stateOfCeiling(ceiling(text), question([], { allowances: [allowance], now }));
  assert.equal(of("day=1000-tokens").limit, 1_500);
  assert.equal(of("day=1000-tokens+300-tokens").ownerLeft, 100);
  assert.equal(of("day=1000-tokens+100-tokens").ownerLeft, 0);
  assert.equal(of("hour=1000-tokens").limit, 1_000);
  assert.equal(of("day=5usd").limit, 5);
  const tomorrow = of("day=1000-tokens+300-tokens", NOON + 86_400_000);
  assert.deepEqual([tomorrow.limit, tomorrow.ownerLeft], [1_000, 300]);
});

Deno.test("a model without a price stops a ceiling in dollars, but none in tokens", () => {
  const turns = [{ at: NOON, input: 1, model: "other" }];
  const dollars = stateOfCeiling(ceiling("day=5usd"), question(turns));
  assert.deepEqual([dollars.level, dollars.unpriced], ["unpriced", ["other"]]);
  assert.equal(stateOfCeiling(ceiling("day=5m-tokens"), question(turns)).level, "below");
  // The next call counts before it is made.
  const next = stateOfCeiling(ceiling("day=5usd"), question([], { model: "other" }));
  assert.deepEqual([next.level, next.unpriced], ["unpriced", ["other"]]);
  assert.equal(stateOfCeiling(ceiling("day=5usd"), question([], { model: "m" })).level, "below");
});

Deno.test("a kind of token without a price is not free", () => {
  const cached = stateOfCeiling(ceiling("day=5usd"), question([{ at: NOON, cachedRead: 1 }]));
  assert.deepEqual([cached.level, cached.unpriced], ["unpriced", ["m"]]);
});

Deno.test("with an empty price table every model in use is without a price", () => {
  const state = stateOfCeiling(ceiling("day=5usd"), question(spent(1), { prices: new Map() }));
  assert.equal(state.level, "unpriced");
});

Deno.test("a sum is a minimum after a turn without figures, or with long prompts", () => {
  const of = (input: number, isPartial: boolean) =>
    stateOfCeiling(ceiling("day=50usd"), question(spent(input), { isPartial })).isMinimum;
  assert.deepEqual([of(1, false), of(1, true), of(9_000_001, false)], [false, true, true]);
});

Deno.test("the first ceiling that is reached or not comparable stops the agent", () => {
  const states = (turns: readonly Turn[]) =>
    ["hour=1000-tokens", "day=5usd"].map((text) => stateOfCeiling(ceiling(text), question(turns)));
  assert.equal(stoppingCeiling(states(spent(10))), undefined);
  assert.equal(stoppingCeiling(states(spent(1_000)))?.ceiling.period, "hour");
  assert.equal(stoppingCeiling(states([{ at: NOON, input: 1, model: "x" }]))?.level, "unpriced");
});

Deno.test("a clock that is set back within a period loses no spending", () => {
  const within = { min: DAY_START, max: DAY_START + 86_400_000 - 1 };
  const moment = fc.integer(within);
  fc.assert(fc.property(moment, moment, fc.array(moment), (now, later, ends) => {
    const turns = ends.map((at) => ({ at, input: 7 }));
    const sum = (at: number) =>
      stateOfCeiling(ceiling("day=1m-tokens"), question(turns, { now: at })).spent;
    assert.equal(sum(now), sum(later));
    assert.equal(sum(now), 7 * ends.length);
  }));
});

Deno.test("more turns never lower the level", () => {
  const order = ["below", "near", "reached"];
  const inputs = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 8 });
  fc.assert(fc.property(inputs, fc.integer({ min: 0, max: 400 }), (before, next) => {
    const level = (all: readonly number[]) => {
      const turns = all.map((input) => ({ at: NOON, input }));
      return order.indexOf(stateOfCeiling(ceiling("day=1000-tokens"), question(turns)).level);
    };
    assert.ok(level([...before, next]) >= level(before));
  }));
});

/** Ceiling, what was spent; suggested amount, and what the owner's card offers. */
const SUGGESTIONS: readonly (readonly [string, number, number, number | undefined])[] = [
  ["day=1000-tokens+200-tokens", 1_000, 500, 200],
  ["day=1000-tokens+200-tokens", 1_199, 500, 200],
  ["day=1000-tokens+200-tokens", 1_200, 500, undefined],
  ["day=1000-tokens+9m-tokens", 1_000, 500, 500],
  ["day=1000-tokens+9m-tokens", 500, 500, undefined],
  ["day=1000-tokens", 1_400, 1_000, undefined],
  ["day=1-tokens+9m-tokens", 812, 2_000, 2_000],
  ["day=1-tokens", 1, 1, undefined],
  ["day=5usd+2usd", 5_020_000, 5, 2],
  ["day=3usd", 3_000_000, 2, undefined],
  ["day=0.01usd+0.05usd", 10_000, 0.01, 0.01],
];

for (const [text, input, suggested, offered] of SUGGESTIONS) {
  Deno.test(`${text} with ${input} tokens spent: ${suggested} more is suggested`, () => {
    const state = stateOfCeiling(ceiling(text), question([{ at: NOON, input }]));
    assert.deepEqual([suggestedMore(state), ownerMore(state)], [suggested, offered]);
  });
}
