/**
 * What root remembers of the agents' spending: agents that stopped, ended periods, allowances, and
 * a damaged file.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  type AgentSpending,
  agentSpending,
  NO_SPENDING,
  parseHostSpending,
  remember,
  spendingIn,
} from "cli/ceilings/host_spending.ts";

const DAY = Date.parse("2026-11-23T00:00:00Z");
const NOON = DAY + 12 * 3_600_000;
const NEXT_DAY = DAY + 36 * 3_600_000;

function spent(agent: string, input: number, more: Partial<AgentSpending> = {}): AgentSpending {
  const tokens = { input, output: 0, cachedRead: 0, cachedWrite: 0 };
  return {
    agent,
    period: "day",
    since: DAY,
    is_partial: false,
    models: [{ model: "m", day: "2026-11-23", tokens, largestInput: input }],
    ...more,
  };
}

const inputs = (of: ReturnType<typeof spendingIn>) => of.models.map(({ tokens }) => tokens.input);

Deno.test("an agent that no longer answers has spent what it last reported", () => {
  const first = remember(NO_SPENDING, [spent("ada", 5), spent("bea", 7)], NOON);
  const second = remember(first, [spent("ada", 9)], NOON);
  assert.deepEqual(inputs(spendingIn(second, DAY, "day", false)), [7, 9]);
});

Deno.test("a period that has ended is forgotten, with its allowances", () => {
  const allowances = [{ key: "day-usd", since: DAY, more: 5, byOwner: 0 }];
  const first = { ...remember(NO_SPENDING, [spent("ada", 5)], NOON), allowances };
  assert.equal(remember(first, [], NOON).allowances.length, 1);
  assert.deepEqual(remember(first, [], NEXT_DAY), NO_SPENDING);
});

Deno.test("periods are summed separately", () => {
  const kept = remember(NO_SPENDING, [
    spent("ada", 5),
    spent("ada", 2, { period: "hour", since: NOON }),
  ], NOON);
  assert.deepEqual(inputs(spendingIn(kept, NOON, "hour", false)), [2]);
  assert.deepEqual(inputs(spendingIn(kept, DAY, "day", false)), [5]);
});

Deno.test("a sum is a minimum when an agent did not report everything", () => {
  const none = remember(NO_SPENDING, [spent("ada", 5)], NOON);
  assert.equal(spendingIn(none, DAY, "day", false).isPartial, false);
  assert.equal(spendingIn(none, DAY, "day", true).isPartial, true);
  const some = remember(none, [spent("bea", 5, { is_partial: true })], NOON);
  assert.equal(spendingIn(some, DAY, "day", false).isPartial, true);
});

Deno.test("turns without figures make the spending of an agent partial", () => {
  const day = { day: "2026-11-23", turns: 2, unknown_turns: 1, partial_turns: 0 };
  const usage = { agent: "ada", days: [day], models: [] };
  assert.equal(agentSpending(usage, { period: "day", since: DAY }).is_partial, true);
});

Deno.test("the file is read back as it was written, and a damaged one is not", () => {
  const kept = remember(NO_SPENDING, [spent("ada", 5)], NOON);
  assert.deepEqual(parseHostSpending(JSON.stringify(kept)), kept);
  assert.deepEqual(parseHostSpending(undefined), NO_SPENDING);
  for (const damage of ["", "[]", '{"spent":[{}]}']) {
    assert.equal(parseHostSpending(damage), undefined);
  }
});
