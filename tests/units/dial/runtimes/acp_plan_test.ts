/**
 * The todo list of an ACP program.
 *
 * @module
 */

import assert from "node:assert/strict";
import { PLAN_LIMITS } from "core/limits/plan.ts";
import { planOf } from "units/dial/runtimes/acp_plan.ts";

const entry = (content: unknown, status: unknown = "pending") => ({ content, status });

for (
  const [name, entries, wanted] of [
    [
      "known states",
      [entry("a", "completed"), entry("b", "in_progress"), entry("c", "new")],
      [["a", "done"], ["b", "active"], ["c", "pending"]],
    ],
    ["an entry without text", [entry(1), entry("b")], [["b", "pending"]]],
    ["no entries", [], []],
    ["only entries of another form", ["x", null], undefined],
    ["no list", "x", undefined],
  ] as const
) {
  Deno.test(`planOf() reads ${name}`, () => {
    const [update] = planOf({ entries });
    const read = update?.kind === "plan"
      ? update.entries.map((each) => [each.text, each.state])
      : undefined;
    assert.deepEqual(read, wanted);
  });
}

Deno.test("planOf() cuts a list and its entries to their limits", () => {
  const [update] = planOf({ entries: Array.from({ length: 80 }, () => entry("x".repeat(900))) });
  assert.ok(update?.kind === "plan");
  assert.equal(update.entries.length, PLAN_LIMITS.entriesMax);
  assert.equal(update.entries[0]?.text.length, PLAN_LIMITS.entryLengthMax);
});
