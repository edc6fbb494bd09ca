/**
 * Laws of the planner over random fleets: a second run changes nothing, a state does not depend on
 * the path to it, and a removal undoes an addition.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { isUnchanged, printReport } from "units/reconcile/report.ts";
import { facts, MANIFESTS } from "tests/units/reconcile/fixture.ts";
import { createRig } from "tests/units/reconcile/rig.ts";

const fleet = fc.dictionary(
  fc.constantFrom("ada", "bea", "cyd", "dan"),
  fc.uniqueArray(fc.constantFrom(...MANIFESTS.map((each) => each.name as string))),
  { noNullPrototype: true },
);
const RUNS = { numRuns: 40 } as const;
const APPLY = { restartAgents: true } as const;

Deno.test("reconcile() changes nothing the second time, for any fleet", async () => {
  await fc.assert(
    fc.asyncProperty(fleet, async (wired) => {
      const rig = createRig();
      await rig.done(facts(wired), APPLY);
      const again = await rig.done(facts(wired), APPLY);
      assert.ok(isUnchanged(again), printReport(again).join("\n"));
    }),
    RUNS,
  );
});

/** Client configs keep an empty list of entries; nothing else may show the history. */
async function traceless(rig: ReturnType<typeof createRig>) {
  const entries = Object.entries(await rig.snapshot()).filter(([, text]) =>
    !/"mcpServers": \{\}/.test(text)
  );
  return Object.fromEntries(entries);
}

Deno.test("reconcile() ends in the same state whatever state it finds", async () => {
  await fc.assert(
    fc.asyncProperty(fleet, fleet, async (first, last) => {
      const straight = createRig();
      await straight.done(facts(last), APPLY);
      const round = createRig();
      await round.done(facts(first), APPLY);
      await round.done(facts(last), APPLY);
      // The order of entries depends on the order in which they were added.
      const sortLines = (text: string) =>
        text.split("\n").map((line) => line.replace(/,$/, "")).sort();
      const shape = (taken: Readonly<Record<string, string>>) =>
        Object.fromEntries(Object.entries(taken).map(([path, text]) => [path, sortLines(text)]));
      assert.deepEqual(shape(await traceless(round)), shape(await traceless(straight)));
      assert.deepEqual(round.services.active(), straight.services.active());
    }),
    RUNS,
  );
});

Deno.test("reconcile() converges when it is cut at a random step between fleets", async () => {
  await fc.assert(
    fc.asyncProperty(fleet, fleet, fc.nat(60), async (first, last, step) => {
      const rig = createRig();
      await rig.done(facts(first), APPLY);
      rig.files.failAt(step + 1, "EIO");
      await rig.run(facts(last), APPLY);
      for (let left = 0; left <= step; left++) await rig.run(facts(last), APPLY);
      assert.ok(isUnchanged(await rig.done(facts(last), APPLY)));
      const goal = createRig();
      await goal.done(facts(last), APPLY);
      assert.deepEqual(rig.services.active(), goal.services.active());
    }),
    { numRuns: 30 },
  );
});
