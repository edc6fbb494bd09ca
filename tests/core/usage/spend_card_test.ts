/**
 * The words of the card at a spend ceiling, and what is no such card.
 *
 * @module
 */

import assert from "node:assert/strict";
import { SPEND_MORE, spendCardOf, spendRequest } from "core/usage/spend_card.ts";

const REQUEST = spendRequest({
  period: "month",
  unit: "usd",
  limit: 1_500,
  spent: 1_500.25,
  isMinimum: true,
  more: 20,
  ownerLeft: 22.5,
  until: "2026-12-01 00:00 UTC",
});
const call = { mcp: undefined, tool: SPEND_MORE };

Deno.test("the card says what is spent, and who may allow how much more", () => {
  assert.deepEqual(spendCardOf({ ...call, arguments: REQUEST }), {
    title: "The monthly ceiling of 1500 USD is reached",
    spent: "Spent this month: at least 1500.25 USD.",
    mayAllow: "The owner may allow 22.50 USD more until 2026-12-01 00:00 UTC, and an operator " +
      "any amount.",
    otherwise: "Otherwise the turn ends, and the agent pauses until then.",
    allow: "Allow 20 USD more",
  });
});

Deno.test("a card in tokens counts one token in the singular", () => {
  const tokens = spendRequest({
    period: "hour",
    unit: "tokens",
    limit: 1,
    spent: 1_234_567,
    isMinimum: false,
    more: 1,
    ownerLeft: 1,
    until: "2026-12-01 00:00 UTC",
  });
  const words = spendCardOf({ ...call, mcp: "", arguments: tokens });
  assert.equal(words?.title, "The hourly ceiling of 1 token is reached");
  assert.equal(words.spent, "Spent this hour: 1,234,567 tokens.");
  assert.equal(words.allow, "Allow 1 token more");
});

const { until: _, ...WITHOUT_UNTIL } = REQUEST;
const NO_CARDS: readonly (readonly [string, Parameters<typeof spendCardOf>[0]])[] = [
  ["a tool of an MCP", { ...call, mcp: "git", arguments: REQUEST }],
  ["another tool", { ...call, tool: "bash", arguments: REQUEST }],
  ["no arguments", { ...call, arguments: null }],
  ["a missing argument", { ...call, arguments: WITHOUT_UNTIL }],
  ["one argument more", { ...call, arguments: { ...REQUEST, to: "x" } }],
  ["another period", { ...call, arguments: { ...REQUEST, period: "year" } }],
  ["an amount with words", { ...call, arguments: { ...REQUEST, spent: "1.00 USD only" } }],
  ["a number", { ...call, arguments: { ...REQUEST, spent: 1 } }],
  ["a time with words", { ...call, arguments: { ...REQUEST, until: "tomorrow" } }],
];

for (const [name, given] of NO_CARDS) {
  Deno.test(`${name} makes no card of a ceiling`, () => {
    assert.equal(spendCardOf(given), undefined);
  });
}
