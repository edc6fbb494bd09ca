/**
 * What the planner leaves unchanged because it is unavailable or unreadable, while everything else
 * proceeds.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { AgentName, McpName } from "core/names.ts";
import type { Facts } from "units/reconcile/facts.ts";
import { facts } from "tests/units/reconcile/fixture.ts";
import { createRig } from "tests/units/reconcile/rig.ts";
import { ALL_UNITS, test, WIRED } from "tests/units/reconcile/wired_host.ts";

test("reconcile() holds an MCP whose tree is missing, and continues", async () => {
  const rig = createRig();
  rig.broken.add("git");
  const report = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(report.faults.map((fault) => fault.code), ["package-missing"]);
  assert.deepEqual(rig.services.active(), ALL_UNITS.filter((unit) => !unit.includes("git")));
  const config = JSON.parse(rig.files.text("/r/home/ada/.runtime-b/agent/mcp.json") ?? "");
  assert.deepEqual(Object.keys(config.mcpServers), ["notes", "maps"]);
  rig.broken.clear();
  await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(rig.services.active(), ALL_UNITS);
});

test("reconcile() leaves a running MCP alone when its tree is missing now", async () => {
  const rig = createRig();
  await rig.done(facts(WIRED), { restartAgents: true });
  const before = await rig.snapshot();
  rig.broken.add("git");
  const report = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(report.faults.map((fault) => fault.code), ["package-missing"]);
  const { ["/r/var/lib/fleetctl/permissions/agent-ada.json"]: _, ...now } = await rig.snapshot();
  const { ["/r/var/lib/fleetctl/permissions/agent-ada.json"]: __, ...then } = before;
  assert.deepEqual(now, then);
  assert.ok(rig.services.active().includes("mcp-git-ada.socket"));
});

const FAULTY: readonly {
  readonly name: string;
  readonly code: string;
  readonly facts: (good: Facts) => Facts;
}[] = [
  {
    name: "an MCP is not in the catalog",
    code: "mcp-not-catalogued",
    facts: (good) => ({
      ...good,
      catalog: new Map([...good.catalog].filter(([name]) => name !== "git")),
    }),
  },
  {
    name: "a runtime has no definition",
    code: "runtime-unknown",
    facts: (good) => ({
      ...good,
      agents: good.agents.map((each) =>
        each.name === "ada" ? { ...each, runtime: "runtime-z" } : each
      ),
    }),
  },
  {
    name: "an assertion key is missing",
    code: "assertion-key-missing",
    facts: (good) => {
      const { assertionKey: _, ...gateway } = good.roles.gateway!;
      return { ...good, roles: { ...good.roles, gateway } };
    },
  },
];
for (const row of FAULTY) {
  test(`reconcile() keeps everything as it was when ${row.name}`, async () => {
    const rig = createRig();
    await rig.done(facts(WIRED), { restartAgents: true });
    const before = rig.services.active();
    const report = await rig.done(row.facts(facts(WIRED)), { restartAgents: true });
    assert.deepEqual(report.faults.map((fault) => fault.code), [row.code]);
    assert.ok((report.faults[0]?.hints.length ?? 0) > 0);
    const lost = before.filter((unit) => !rig.services.active().includes(unit));
    assert.deepEqual(lost, []);
  });
}

test("reconcile() keeps shared servers and rules that only held agents have", async () => {
  const rig = createRig();
  await rig.done(facts(WIRED), { restartAgents: true });
  const before = await rig.snapshot();
  const wired = Object.keys(WIRED) as AgentName[];
  const report = await rig.done(facts(WIRED, { held: { agents: wired } }), {
    restartAgents: true,
  });
  assert.deepEqual(report.faults, []);
  assert.deepEqual(await rig.snapshot(), before);
  assert.deepEqual(rig.services.active(), ALL_UNITS);
});

test("reconcile() neither changes nor removes what belongs to a held agent or MCP", async () => {
  const rig = createRig();
  await rig.done(facts(WIRED), { restartAgents: true });
  const before = await rig.snapshot();
  const held = { agents: ["bea" as AgentName], mcps: ["git" as McpName] };
  const report = await rig.done(facts({ ada: ["notes", "maps"] }, { held }), {
    restartAgents: true,
  });
  const now = await rig.snapshot();
  for (const path of Object.keys(before).filter((each) => /bea|git/.test(each))) {
    assert.equal(now[path], before[path], path);
  }
  assert.deepEqual(rig.services.active(), ALL_UNITS);
  assert.deepEqual(report.faults, []);
});
