/**
 * A reconcile limited to one agent. It does not write, remove, start or even read anything outside
 * that agent's property. A later run over the whole host reaches the usual state.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { AgentName, McpName } from "core/names.ts";
import { facts, MANIFESTS } from "tests/units/reconcile/fixture.ts";
import { createRig, type Rig } from "tests/units/reconcile/rig.ts";
import type { Facts } from "units/reconcile/facts.ts";
import { isUnchanged } from "units/reconcile/report.ts";
import { scopeOf } from "units/reconcile/scope.ts";

const ada = "ada" as AgentName;
const APPLY = { restartAgents: true } as const;

/** Runs for one agent, and returns the paths that changed. */
async function changedBy(rig: Rig, given: Facts, agent: AgentName, more: readonly McpName[] = []) {
  const before = await rig.snapshot();
  const report = await rig.done(given, { scope: scopeOf(given, agent, more) });
  const after = await rig.snapshot();
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((path) => before[path] !== after[path]).sort();
  return { paths, report };
}

/** Returns whether a path is one of ada's, or a common part of an MCP that she has. */
function isAdas(path: string, mcps: readonly string[]): boolean {
  return /^\/r\/home\/ada(\/|$)/.test(path) ||
    ["agent-ada.env", "agent-ada.json", "fleetctl-dial-ada.service"]
      .some((name) => path.endsWith(`/${name}`)) ||
    /\/mcp-[a-z-]+-ada(@)?\.(service|socket)$/.test(path) ||
    /\/env\/mcp-shared\.env$/.test(path) ||
    mcps.some((mcp) =>
      new RegExp(`/(gate/${mcp}\\.json|mcp-${mcp}(@)?\\.(service|socket))$`).test(path)
    );
}

Deno.test("reconcile() with a scope writes only what an agent's added MCP needs", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: [], bea: ["git"] }), APPLY);
  const old = facts({ ada: ["notes"], bea: ["git", "notes", "agent-message"] });
  // Meanwhile the gateway's settings and the tree of another agent's MCP have changed, too.
  const gateway = { ...old.roles.gateway!, settings: { WEBVIEW_EVENTS_DAYS: "9" } };
  const given = { ...old, roles: { ...old.roles, gateway } };
  rig.upgrade.add("git");
  const { paths, report } = await changedBy(rig, given, ada);
  assert.deepEqual(paths, [
    "/r/etc/fleetctl/gate/notes.json",
    "/r/etc/systemd/system/mcp-notes.socket",
    "/r/etc/systemd/system/mcp-notes@.service",
    "/r/etc/systemd/system/sockets.target.wants/mcp-notes.socket",
    "/r/home/ada/.runtime-b/agent/mcp.json",
    "/r/var/lib/fleetctl/permissions/agent-ada.json",
  ]);
  assert.deepEqual(report.units, [{ unit: "mcp-notes.socket", change: "started" }]);
  assert.deepEqual([report.vendored, report.restartPending], [["notes"], ["ada"]]);
});

Deno.test("reconcile() with a scope names no fault of another agent", async () => {
  const rig = createRig();
  const given = facts({ ada: ["git"], bea: ["nosuch"], cyd: ["git"] });
  const { report } = await changedBy(rig, given, ada);
  assert.deepEqual(report.faults, []);
  const other = await changedBy(rig, given, "bea" as AgentName);
  assert.deepEqual(other.report.faults.map((fault) => fault.code), ["mcp-not-catalogued"]);
});

Deno.test("reconcile() with a scope removes a shared server with its last agent only", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: ["notes"], bea: ["notes"] }), APPLY);
  const notes = "notes" as McpName;
  const first = await changedBy(rig, facts({ ada: [], bea: ["notes"] }), ada, [notes]);
  assert.deepEqual(first.paths, [
    "/r/home/ada/.runtime-b/agent/mcp.json",
    "/r/var/lib/fleetctl/permissions/agent-ada.json",
  ]);
  assert.ok(rig.services.active().includes("mcp-notes.socket"));
  await changedBy(rig, facts({ ada: [], bea: [] }), "bea" as AgentName, [notes]);
  assert.ok(!rig.services.active().includes("mcp-notes.socket"));
  assert.deepEqual(
    rig.files.paths().filter((path) => /notes/.test(path) && !/deploy/.test(path)),
    [],
  );
});

Deno.test("reconcile() with a scope never takes over the unit of another agent's MCP", async () => {
  const shared = { ...MANIFESTS[1]!, name: "git-bea" as McpName };
  const catalog = new Map([...MANIFESTS, shared].map((each) => [each.name, each]));
  const rig = createRig();
  await rig.done(facts({ ada: [], bea: ["git"] }, { catalog }), APPLY);
  const given = facts({ ada: ["git-bea"], bea: ["git"] }, { catalog });
  const { paths, report } = await changedBy(rig, given, ada);
  assert.deepEqual(paths, []);
  assert.deepEqual(report.faults.map((fault) => fault.code), ["mcp-names-collide"]);
});

const names = MANIFESTS.map((each) => each.name as string);
const fleet = fc.dictionary(
  fc.constantFrom("ada", "bea", "cyd"),
  fc.uniqueArray(fc.constantFrom(...names)),
  { noNullPrototype: true, minKeys: 1 },
).map((wired) => ({ ada: [], ...wired }));

Deno.test("reconcile() with a scope leaves the rest, for any fleet and change", async () => {
  await fc.assert(
    fc.asyncProperty(fleet, fleet, async (first, last) => {
      const rig = createRig();
      await rig.done(facts(first), APPLY);
      const given = facts(last);
      const had = (first.ada ?? []) as readonly McpName[];
      const active = rig.services.active().filter((unit) => !/ada/.test(unit));
      const { paths } = await changedBy(rig, given, ada, had);
      const common = [...had, ...last.ada ?? []];
      assert.deepEqual(
        paths.filter((path) => !isAdas(path.replace(/sockets\.target\.wants\//, ""), common)),
        [],
      );
      const kept = rig.services.active().filter((unit) => !/ada/.test(unit));
      const lost = active.filter((unit) =>
        !kept.includes(unit) && !common.some((mcp) => unit === `mcp-${mcp}.socket`)
      );
      assert.deepEqual(lost, []);
      await rig.done(given, APPLY);
      assert.ok(isUnchanged(await rig.done(given, APPLY)));
      const straight = createRig();
      await straight.done(given, APPLY);
      assert.deepEqual(rig.services.active(), straight.services.active());
    }),
    { numRuns: 60 },
  );
});

Deno.test("reconcile() with a scope converges after a fault at every single change", async () => {
  const first = facts({ ada: ["git"], bea: ["notes"] });
  const last = facts({ ada: ["notes", "agent-message"], bea: ["notes"] });
  const options = { scope: scopeOf(last, ada, ["git" as McpName]) };
  const goal = createRig();
  await goal.done(first, APPLY);
  const start = goal.files.changes.length;
  await goal.done(last, options);
  const steps = goal.files.changes.length - start;
  assert.ok(steps > 10);
  for (let step = 1; step <= steps; step++) {
    const rig = createRig();
    await rig.done(first, APPLY);
    rig.files.failAt(step, step % 2 === 0 ? "ENOSPC" : "EIO");
    await rig.run(last, options);
    await rig.done(last, options);
    assert.ok(isUnchanged(await rig.done(last, options)), `step ${step}`);
    assert.deepEqual(rig.services.active(), goal.services.active(), `step ${step}`);
    assert.deepEqual(await rig.snapshot(), await goal.snapshot(), `step ${step}`);
  }
});
