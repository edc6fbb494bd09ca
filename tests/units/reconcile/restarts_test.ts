/**
 * Which units the planner restarts, bounces or leaves alone, and in which order.
 *
 * @module
 */

import assert from "node:assert/strict";
import { isUnchanged, printReport } from "units/reconcile/report.ts";
import { facts } from "tests/units/reconcile/fixture.ts";
import { createRig } from "tests/units/reconcile/rig.ts";
import { test, unitChanges, WIRED } from "tests/units/reconcile/wired_host.ts";

test("reconcile() reports that a restart is needed when an MCP is added", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: [] }), { restartAgents: true });
  const added = await rig.done(facts({ ada: ["git"] }));
  assert.deepEqual(added.restartPending, ["ada"]);
  assert.deepEqual(unitChanges(added), ["started mcp-git-ada.socket"]);
  assert.match(printReport(added).at(-1) ?? "", /takes effect only after agent "ada" restarts/);
  const again = await rig.done(facts({ ada: ["git"] }));
  assert.deepEqual(again.restartPending, ["ada"], "still running with the old config");
  const applied = await rig.done(facts({ ada: ["git"] }), { restartAgents: true });
  assert.deepEqual(unitChanges(applied), ["restarted fleetctl-dial-ada.service"]);
  assert.deepEqual(applied.restartPending, []);
});

test("reconcile() treats an agent that was restarted by hand as live", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: [] }), { restartAgents: true });
  await rig.done(facts({ ada: ["git"] }));
  await rig.services.restart("fleetctl-dial-ada.service");
  const applied = await rig.done(facts({ ada: ["git"] }), { restartAgents: true });
  assert.ok(isUnchanged(applied), printReport(applied).join("\n"));
  assert.deepEqual(applied.restartPending, []);
});

test("reconcile() restarts the gateway alone when only its settings changed", async () => {
  const rig = createRig();
  const before = facts(WIRED);
  await rig.done(before, { restartAgents: true });
  const gateway = { ...before.roles.gateway!, settings: { WEBVIEW_EVENTS_DAYS: "9" } };
  const report = await rig.done({ ...before, roles: { ...before.roles, gateway } }, {
    restartAgents: true,
  });
  assert.deepEqual(unitChanges(report), ["restarted fleetctl-gateway.service"]);
});

test("reconcile() restarts no role when identities and admins change", async () => {
  const rig = createRig();
  const before = facts(WIRED);
  await rig.done(before, { restartAgents: true });
  const rosterJson = '{"ledger":{"new@example.org":"ada"},"admins":["ada"]}\n';
  const teamchat = { ...before.roles.teamchat!, agentsJson: "{}" };
  const gateway = { ...before.roles.gateway!, rosterJson };
  const report = await rig.done({ ...before, roles: { ...before.roles, gateway, teamchat } }, {
    restartAgents: true,
  });
  assert.deepEqual(unitChanges(report), []);
  assert.equal(await rig.files.readText("/r/etc/fleetctl/webview-ledger.json"), rosterJson);
});

test("reconcile() restarts only the role whose bundled program changed", async () => {
  const rig = createRig({ files: { "/r/usr/lib/fleetctl/fleetctl-gateway.js": "1" } });
  await rig.done(facts(WIRED), { restartAgents: true });
  await rig.files.write("/r/usr/lib/fleetctl/fleetctl-gateway.js", "2");
  const report = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(unitChanges(report), ["restarted fleetctl-gateway.service"]);
});

test("reconcile() bounces a socket and no agent when a tree changed", async () => {
  const rig = createRig();
  await rig.done(facts(WIRED), { restartAgents: true });
  rig.upgrade.add("git");
  const report = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(unitChanges(report), ["bounced mcp-git-ada.socket"]);
  assert.deepEqual(report.vendored, ["git"]);
});

test("reconcile() repeats a bounce that failed", async () => {
  const rig = createRig();
  await rig.done(facts(WIRED), { restartAgents: true });
  rig.upgrade.add("git");
  rig.services.failAt(1);
  const failed = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(failed.faults.map((fault) => fault.code), ["unit-failed"]);
  const report = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(unitChanges(report), ["bounced mcp-git-ada.socket"]);
});

test("reconcile() bounces servers of a changed key and reports the needed restart", async () => {
  const rig = createRig();
  const before = facts(WIRED);
  await rig.done(before, { restartAgents: true });
  const env = before.env.map((file) =>
    file.path.endsWith("agent-bea.env")
      ? { ...file, content: "CODEHOST_TOKEN=another\nMAPS_KEY=k/bea\n" }
      : file
  );
  const report = await rig.done({ ...before, env }, { restartAgents: true });
  assert.deepEqual(unitChanges(report), ["bounced mcp-code-host-bea.socket"]);
  assert.deepEqual(report.restartPending, ["bea"]);
});

test("reconcile() starts an agent stopped by hand only with restartAgents", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: [] }));
  await rig.services.stop("fleetctl-dial-ada.service");
  await rig.done(facts({ ada: ["git"] }));
  assert.ok(!rig.services.active().includes("fleetctl-dial-ada.service"));
  await rig.done(facts({ ada: ["git"] }), { restartAgents: true });
  assert.ok(rig.services.active().includes("fleetctl-dial-ada.service"));
});

test("reconcile() starts the daemon last and the sockets first", async () => {
  const rig = createRig();
  await rig.done(facts(WIRED), { restartAgents: true });
  const starts = rig.services.changes.filter((line) => line.startsWith("start "));
  assert.equal(starts.at(-1), "start fleetctl-daemon.service");
  assert.ok(starts.slice(0, 3).every((line) => line.startsWith("start mcp-")), starts.join("\n"));
});
