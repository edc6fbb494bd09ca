/**
 * A clock that jumps back or ahead between the planner's actions and those of units.
 *
 * @module
 */

import assert from "node:assert/strict";
import { facts } from "tests/units/reconcile/fixture.ts";
import { createRig } from "tests/units/reconcile/rig.ts";
import { isUnchanged, printReport } from "units/reconcile/report.ts";

const WIRED = { ada: ["git", "notes"], bea: ["notes"] };

Deno.test("reconcile() is not affected by a clock that jumps", async () => {
  const rig = createRig();
  await rig.done(facts(WIRED), { restartAgents: true });
  // Units that started before their inputs were written, and files from the future.
  for (const shift of [-1, 1]) {
    rig.services.shiftClock(shift * 400 * 86_400_000);
    const again = await rig.done(facts(WIRED), { restartAgents: true });
    assert.ok(isUnchanged(again), printReport(again).join("\n"));
    const changed = facts({ ...WIRED, ada: ["notes"] });
    const added = await rig.done(changed);
    assert.ok(added.restartPending.includes("ada"));
    await rig.services.restart("fleetctl-dial-ada.service");
    assert.deepEqual((await rig.done(changed)).restartPending, []);
    await rig.done(facts(WIRED), { restartAgents: true });
  }
});
