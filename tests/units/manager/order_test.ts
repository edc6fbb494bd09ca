/**
 * Which units start together, in which order, and which units stop together.
 *
 * @module
 */

import assert from "node:assert/strict";
import { planStart, planStop, planStopOrder, runInOrder } from "units/manager/order.ts";
import type { Relations } from "units/manager/units/unit_spec.ts";

type Given = Readonly<Record<string, Partial<Record<keyof Relations, readonly string[]>>>>;

const NONE: Relations = { after: [], before: [], requires: [], wants: [], bindsTo: [], partOf: [] };

function relations(given: Given) {
  return (unit: string): Relations | undefined => {
    const some = given[unit];
    return some === undefined ? undefined : { ...NONE, ...some };
  };
}

const STARTS: readonly {
  readonly name: string;
  readonly given: Given;
  readonly start: readonly string[];
  readonly want: readonly string[];
  readonly missing?: readonly string[];
}[] = [
  { name: "one unit", given: { a: {} }, start: ["a"], want: ["a"] },
  {
    name: "a required unit comes first if After names it",
    given: { a: { requires: ["b"], after: ["b"] }, b: { wants: ["c"], after: ["c"] }, c: {} },
    start: ["a"],
    want: ["c", "b", "a"],
  },
  {
    name: "Before is the reverse of After",
    given: { a: {}, b: { before: ["a"] } },
    start: ["a", "b"],
    want: ["b", "a"],
  },
  {
    name: "After alone starts nothing",
    given: { a: { after: ["b"] }, b: {} },
    start: ["a"],
    want: ["a"],
  },
  {
    name: "a target without a file is always reached",
    given: { a: { requires: ["x.target"], after: ["x.target"], wants: ["y.service"] } },
    start: ["a"],
    want: ["a"],
  },
  {
    name: "a required unit without a file is reported as missing",
    given: { a: { requires: ["b.service"] } },
    start: ["a"],
    want: ["a"],
    missing: ["a needs b.service"],
  },
  {
    name: "a cycle is cut, not followed",
    given: { a: { requires: ["b"], after: ["b"] }, b: { requires: ["a"], after: ["a"] } },
    start: ["a"],
    want: ["b", "a"],
  },
];

Deno.test("planStart() adds the required units and sorts them", () => {
  for (const { name, given, start, want, missing } of STARTS) {
    const plan = planStart(start, relations(given));
    assert.deepEqual(plan.steps.map((step) => step.unit), want, name);
    const gaps = plan.missing.map((gap) => `${gap.unit} needs ${gap.needs}`);
    assert.deepEqual(gaps, missing ?? [], name);
  }
});

Deno.test("planStop() also stops what requires, is bound to or is part of a unit", () => {
  const given: Given = {
    base: {},
    needs: { requires: ["base"], after: ["base"] },
    deeper: { bindsTo: ["needs"], after: ["needs"] },
    part: { partOf: ["base"], after: ["base"] },
    wants: { wants: ["base"], after: ["base"] },
  };
  const stop = (unit: string) =>
    planStop([unit], Object.keys(given), relations(given)).map((step) => step.unit);
  assert.deepEqual(new Set(stop("base")), new Set(["base", "needs", "deeper", "part"]));
  assert.equal(stop("base").at(-1), "base");
  assert(stop("base").indexOf("deeper") < stop("base").indexOf("needs"));
  assert.deepEqual(stop("wants"), ["wants"]);
});

Deno.test("planStopOrder() is the reverse of the start order", () => {
  const given: Given = { a: {}, b: { after: ["a"] }, c: { after: ["b"] } };
  const steps = planStopOrder(["a", "b", "c"], relations(given));
  assert.deepEqual(steps, [
    { unit: "c", after: [] },
    { unit: "b", after: ["c"] },
    { unit: "a", after: ["b"] },
  ]);
});

Deno.test("runInOrder() waits for earlier steps, whether they end well or not", async () => {
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const jobs = runInOrder(
    [{ unit: "a", after: [] }, { unit: "b", after: ["a"] }, { unit: "c", after: [] }],
    async (unit) => {
      log.push(`${unit} begins`);
      if (unit === "a") await gate.promise;
      log.push(`${unit} ends`);
    },
  );
  await jobs.get("c");
  assert.deepEqual(log, ["a begins", "c begins", "c ends"]);
  gate.reject(new Error("no"));
  await jobs.get("b");
  assert.deepEqual(log.slice(3), ["b begins", "b ends"]);
  await assert.rejects(jobs.get("a") ?? Promise.resolve());
});
