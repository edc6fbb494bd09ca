/**
 * Sums of usage: what each row counts, and what is a minimum.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parsePrices } from "core/usage/prices.ts";
import type { AgentUsage } from "cli/usage/read.ts";
import { sumUsage, type UsageKey, type UsageRow } from "cli/usage/sum.ts";

const PRICES = parsePrices(
  `
models:
  big:
    source: s
    prompt_tokens_max: 1000
    prices:
      - { from: 2026-11-02, input: 2, output: 0, cached_read: 0, cached_write: 0 }
      - { from: 2026-11-01, input: 4, output: 0, cached_read: 0, cached_write: 0 }
`,
  "prices.yaml",
);
assert.ok(PRICES.ok);
const TABLE = PRICES.value;

function modelOf(day: string, model: string, input: number, largest = 1) {
  return {
    day,
    model,
    turns: 1,
    partial_turns: 0,
    input_tokens: input,
    output_tokens: 0,
    cached_read_tokens: 0,
    cached_write_tokens: 0,
    largest_input_tokens: largest,
  };
}

function dayOf(day: string, turns: number, unknown = 0, partial = 0) {
  return { day, turns, unknown_turns: unknown, partial_turns: partial };
}

const MILLION = 1_000_000;
const USAGE: readonly AgentUsage[] = [
  {
    agent: "bea",
    // One turn used both models; another one reported nothing.
    days: [dayOf("2026-11-01", 1), dayOf("2026-11-02", 1, 1)],
    models: [
      modelOf("2026-11-01", "big", MILLION),
      modelOf("2026-11-01", "own", 5),
    ],
  },
  {
    agent: "ada",
    days: [dayOf("2026-11-02", 1)],
    models: [modelOf("2026-11-02", "big", MILLION, 1_001)],
  },
  { agent: "cleo", days: [], models: [] },
];

/** Key, turns, turns without figures, input, cost, and whether the cost is a minimum. */
function shown(row: UsageRow) {
  return [row.key, row.turns, row.unknownTurns, row.tokens.input, row.usd, row.isMinimum];
}

const TOTAL = ["total", 3, 1, 2 * MILLION + 5, 6, true];
const CASES: readonly (readonly [by: UsageKey, rows: readonly unknown[]])[] = [
  ["agent", [["ada", 1, 0, MILLION, 2, true], ["bea", 2, 1, MILLION + 5, 4, true]]],
  ["model", [
    ["big", 2, 0, 2 * MILLION, 6, true],
    ["own", 1, 0, 5, undefined, true],
    [null, 1, 1, 0, undefined, true],
  ]],
  ["day", [["2026-11-01", 1, 0, MILLION + 5, 4, true], ["2026-11-02", 2, 1, MILLION, 2, true]]],
];

for (const [by, rows] of CASES) {
  Deno.test(`sumUsage() by ${by} prices each day, and counts each turn once`, () => {
    const sums = sumUsage(USAGE, by, TABLE);
    assert.deepEqual(sums.rows.map(shown), rows);
    assert.deepEqual(shown(sums.total), TOTAL);
    assert.deepEqual(sums.total.unpricedModels, ["own"]);
    assert.deepEqual(sums.total.longPromptModels, ["big"]);
  });
}

Deno.test("a cost is complete when every turn has figures and every model has a price", () => {
  const usage = [{
    agent: "ada",
    days: [dayOf("2026-11-02", 1)],
    models: [modelOf("2026-11-02", "big", MILLION, 1_000)],
  }];
  const [row] = sumUsage(usage, "agent", TABLE).rows;
  assert.deepEqual(row && shown(row), ["ada", 1, 0, MILLION, 2, false]);
  const partial = [{ ...usage[0], agent: "ada", days: [dayOf("2026-11-02", 1, 0, 1)] }];
  const marked = sumUsage(partial as readonly AgentUsage[], "agent", TABLE).rows[0];
  assert.equal(marked?.isMinimum, true);
});
