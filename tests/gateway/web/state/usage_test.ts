/**
 * The tokens below a finished turn: sums over its models, and what is not known.
 *
 * @module
 */

import assert from "node:assert/strict";
import { tokensOf, tokenWords } from "gateway/web/state/usage.ts";

const event = (kind: string, payload: Record<string, unknown>) => ({
  seq: 1,
  agent: "ada",
  turnId: "t",
  at: 1,
  kind,
  payload,
});
const model = (name: string, counts: readonly [number, number, number, number]) => ({
  model: name,
  input_tokens: counts[0],
  output_tokens: counts[1],
  cached_read_tokens: counts[2],
  cached_write_tokens: counts[3],
});
const done = (outcome: string) => event("turn_ended", { outcome });
const one = { models: [model("m", [1200, 350, 8000, 1000])] };
const two = { models: [model("m", [10, 1, 0, 0]), model("n", [5, 2, 0, 0])] };

const ROWS: readonly (readonly [string, Record<string, unknown>, string, string | undefined])[] = [
  ["one model", one, "completed", "1,200 tokens in · 350 out · 9,000 cached"],
  ["two models", two, "completed", "15 tokens in · 3 out"],
  ["a part", { ...two, is_partial: true }, "completed", "at least 15 tokens in · 3 out"],
  ["a cancelled turn", two, "cancelled", "at least 15 tokens in · 3 out"],
  ["zeros", { models: [model("m", [0, 0, 0, 0])] }, "completed", undefined],
  ["another form", { models: "many" }, "completed", undefined],
];
for (const [name, payload, outcome, wanted] of ROWS) {
  Deno.test(`tokenWords() has the tokens of ${name}`, () => {
    const tokens = tokensOf([event("usage", payload), done(outcome)]);
    assert.equal(tokens === undefined ? undefined : tokenWords(tokens), wanted);
  });
}

Deno.test("tokensOf() is undefined without a report", () => {
  assert.equal(tokensOf([done("completed")]), undefined);
});
