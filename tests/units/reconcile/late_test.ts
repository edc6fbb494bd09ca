/**
 * Units that are slow to stop or start: a run with limited lock time continues without them.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Refusal } from "core/errors.ts";
import { ServiceFault } from "units/manager/service_manager.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { facts } from "tests/units/reconcile/fixture.ts";
import { createRig } from "tests/units/reconcile/rig.ts";
import { reconcile } from "units/reconcile/run.ts";
import { scopeOf } from "units/reconcile/scope.ts";

const WIRED = { ada: ["git", "notes"], bea: ["notes"] };
const UNIT = "fleetctl-dial-ada.service";

/** A host whose agent ada has a new MCP, and whose unit restarts when the test allows it. */
async function slowHost() {
  const rig = createRig();
  const given = facts(WIRED);
  await rig.done(facts({ ...WIRED, ada: ["notes"] }), { restartAgents: true });
  const clock = fakeClock();
  const turn = Promise.withResolvers<void>();
  const late: Promise<Refusal | undefined>[] = [];
  const ports = {
    ...rig.ports,
    clock,
    services: {
      ...rig.services,
      restart: async (unit: string) => {
        if (unit === UNIT) await turn.promise;
        await rig.services.restart(unit);
      },
    },
  };
  const running = reconcile(given, ports, {
    restartAgents: true,
    scope: scopeOf(given, given.agents[0]!.name),
    awaitLater: (work) => late.push(work),
  });
  let isOver = false;
  void running.then(() => isOver = true);
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve));
    await clock.advance(500);
  }
  const report = await running;
  assert.ok(report.ok);
  return { rig, given, turn, late, report: report.value };
}

Deno.test("reconcile() hands a slow unit over, and the next run finds it in order", async () => {
  const { rig, given, turn, late, report } = await slowHost();
  assert.deepEqual(report.units.at(-1), { unit: UNIT, change: "restarted" });
  assert.deepEqual(report.faults, []);
  assert.equal(late.length, 1);
  turn.resolve();
  assert.equal(await late[0], undefined);
  const next = await rig.done(given, { restartAgents: true });
  assert.deepEqual(next.units, [], "it runs with what was recorded");
});

Deno.test("reconcile() reports a failed slow unit later; the next run repairs it", async () => {
  const { rig, given, turn, late } = await slowHost();
  await rig.services.stop(UNIT);
  turn.reject(new ServiceFault(UNIT, `Cannot restart ${UNIT}: it ended before it was ready`));
  assert.equal((await late[0])?.code, "unit-failed");
  const next = await rig.done(given, { restartAgents: true });
  assert.deepEqual(next.units, [{ unit: UNIT, change: "started" }]);
});
