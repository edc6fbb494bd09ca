/**
 * An agent that was stopped on purpose: neither the planner nor a boot starts it, whatever changes.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Facts } from "units/reconcile/facts.ts";
import { isUnchanged } from "units/reconcile/report.ts";
import { facts } from "tests/units/reconcile/fixture.ts";
import { createRig } from "tests/units/reconcile/rig.ts";

const DIAL = "fleetctl-dial-ada.service";

function stopped(of: Facts): Facts {
  return {
    ...of,
    agents: of.agents.map((agent) =>
      agent.name === "ada" ? { ...agent, stopped: "2026-01-01T00:00:00Z" } : agent
    ),
  };
}

Deno.test("reconcile() stops and disables a stopped agent, and leaves the rest", async () => {
  const rig = createRig();
  const all = facts({ ada: ["git"], bea: ["notes"] });
  await rig.done(all, { restartAgents: true });
  const before = rig.services.active();
  const report = await rig.done(stopped(all), { restartAgents: true });
  assert.deepEqual(report.units.map(({ change, unit }) => `${change} ${unit}`), [
    `stopped ${DIAL}`,
  ]);
  assert.deepEqual(rig.services.active(), before.filter((unit) => unit !== DIAL));
  assert.ok(isUnchanged(await rig.done(stopped(all), { restartAgents: true })));
});

Deno.test("reconcile() starts no stopped agent after a boot or with a new unit", async () => {
  const rig = createRig();
  const all = facts({ ada: ["git"], bea: ["notes"] });
  await rig.done(stopped(all), { restartAgents: true });
  assert.ok(!rig.services.active().includes(DIAL));
  rig.services.reboot();
  const changed = stopped({ ...all, workspace: "/elsewhere" });
  const report = await rig.done(changed, { restartAgents: true });
  assert.ok(!rig.services.active().includes(DIAL));
  assert.deepEqual(report.restartPending, []);
});

Deno.test("reconcile() enables and starts it again when it is no longer stopped", async () => {
  const rig = createRig();
  const all = facts({ ada: ["git"] });
  await rig.done(stopped(all), { restartAgents: true });
  await rig.done(all, { restartAgents: true });
  assert.ok(rig.services.active().includes(DIAL));
  assert.ok(isUnchanged(await rig.done(all, { restartAgents: true })));
});
