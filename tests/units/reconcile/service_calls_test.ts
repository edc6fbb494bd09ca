/**
 * The number of calls to the service manager, which must not grow with the number of agents. A call
 * costs it more than a unit does, and each reload costs milliseconds for every loaded unit.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ServiceManager } from "units/manager/service_manager.ts";
import { agent, facts } from "tests/units/reconcile/fixture.ts";
import { createRig } from "tests/units/reconcile/rig.ts";
import { test } from "tests/units/reconcile/wired_host.ts";
import type { Facts } from "units/reconcile/facts.ts";
import { reconcile } from "units/reconcile/run.ts";

/** Returns the names of the calls that each of several runs makes on the same host. */
async function callsOf(runs: readonly Facts[]): Promise<readonly (readonly string[])[]> {
  const rig = createRig();
  const found: (readonly string[])[] = [];
  for (const wanted of runs) {
    const calls: string[] = [];
    const services = counting(rig.services, (name) => calls.push(name));
    const report = await reconcile(wanted, { ...rig.ports, services }, { restartAgents: true });
    assert.ok(report.ok && report.value.faults.length === 0);
    found.push(calls);
  }
  return found;
}

function counting(services: ServiceManager, note: (name: string) => void): ServiceManager {
  return {
    ...services,
    status: (units) => {
      note("status");
      return services.status(units);
    },
    reload: () => {
      note("reload");
      return services.reload();
    },
    each: (verb, units) => {
      note(`each ${verb}`);
      return services.each(verb, units);
    },
    start: (unit) => {
      note(`start ${unit.replace(/-a\d+\./, "-*.")}`);
      return services.start(unit);
    },
  };
}

/** Stopped agents with two MCPs each. */
function fleet(count: number, mcps: readonly string[]): Facts {
  const names = Array.from({ length: count }, (_, index) => `a${index}`);
  const wired = facts(Object.fromEntries(names.map((name) => [name, mcps])));
  const agents = names.map((name) => agent(name, { stopped: "2026-01-01T00:00:00.000Z" }));
  return { ...wired, agents };
}

test("reconcile() calls the service manager as often for 60 agents as for 3", async () => {
  const runs = (count: number) => [
    fleet(count, ["git", "code-host"]),
    fleet(count, ["git", "code-host"]),
    fleet(count, ["git"]),
  ];
  const [first, nothing, fewer] = await callsOf(runs(3));
  assert.deepEqual(await callsOf(runs(60)), [first, nothing, fewer]);
  const started = (first ?? []).filter((name) => !name.startsWith("start "));
  assert.deepEqual(started, ["status", "each enable", "reload", "each start"]);
  assert.deepEqual(nothing, ["status"]);
  assert.deepEqual(fewer, ["status", "each stop", "each disable", "reload"]);
});
