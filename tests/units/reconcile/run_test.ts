/**
 * The whole planner on hosts in memory: idempotence, faults at every step, removal, output.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { McpName } from "core/names.ts";
import { isUnchanged, printReport, reportJson } from "units/reconcile/report.ts";
import { agent, facts, manifest } from "tests/units/reconcile/fixture.ts";
import { createRig } from "tests/units/reconcile/rig.ts";
import { ALL_UNITS, test, unitChanges, WIRED } from "tests/units/reconcile/wired_host.ts";

test("reconcile() starts everything on an empty host, then changes nothing", async () => {
  const rig = createRig();
  const first = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(first.faults, []);
  assert.deepEqual(rig.services.active(), ALL_UNITS);
  assert.deepEqual(first.vendored, ["code-host", "git", "notes"]);
  const before = await rig.snapshot();
  const changes = rig.files.changes.length;
  const second = await rig.done(facts(WIRED), { restartAgents: true });
  assert.ok(isUnchanged(second), printReport(second).join("\n"));
  assert.deepEqual(second.restartPending, []);
  assert.deepEqual(await rig.snapshot(), before);
  const written = rig.files.changes.slice(changes).filter((line) => line.startsWith("write"));
  assert.deepEqual(written, []);
  assert.deepEqual(printReport(second), [`unchanged  ${second.files.length} files`]);
});

test("reconcile() never lets two MCPs answer on one socket", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: ["git"] }), { restartAgents: true });
  const before = await rig.files.readText("/r/etc/systemd/system/mcp-git-ada@.service");
  const both = facts({ ada: ["git"], bea: ["git-ada"] });
  const catalog = new Map(both.catalog).set(
    "git-ada" as McpName,
    manifest("git-ada", { sharing: "shared" }),
  );
  const report = await rig.done({ ...both, catalog }, { restartAgents: true });
  assert.deepEqual(report.faults.map(({ code }) => code), ["mcp-names-collide"]);
  assert.match(report.faults[0]?.message ?? "", /"git-ada".*"mcp-git-ada.socket".*"git"/);
  assert.equal(await rig.files.readText("/r/etc/systemd/system/mcp-git-ada@.service"), before);
  const client = await rig.files.readText("/r/home/bea/.runtime-b/agent/mcp.json");
  assert.ok(!(client ?? "").includes("git-ada"));
});

test("reconcile() starts what a reboot ended and writes nothing", async () => {
  const rig = createRig();
  await rig.done(facts(WIRED));
  rig.services.reboot();
  const report = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(rig.services.active(), ALL_UNITS);
  assert.ok(report.files.every((file) => file.change === "unchanged"));
});

test("reconcile() converges after a fault at every single change of a file", async () => {
  const goal = createRig();
  await goal.done(facts(WIRED), { restartAgents: true });
  const wanted = await goal.snapshot();
  let step = 0;
  for (let isOver = false; !isOver; step++) {
    const rig = createRig();
    rig.files.failAt(step + 1, "ENOSPC");
    const report = await rig.run(facts(WIRED), { restartAgents: true });
    isOver = report.ok && report.value.faults.length === 0;
    if (isOver) break;
    if (report.ok) {
      // A full home is a fault of its agent alone.
      assert.deepEqual(report.value.faults.map(({ code }) => code), ["home-not-writable"]);
    } else {
      assert.equal(report.error.code, "disk-full");
      assert.deepEqual(report.error.hints, ["df -h /r/var/lib/fleetctl", "fleetctl apply"]);
    }
    await rig.done(facts(WIRED), { restartAgents: true });
    assert.deepEqual(await rig.snapshot(), wanted, `after a fault at change ${step + 1}`);
    assert.deepEqual(rig.services.active(), ALL_UNITS);
    assert.ok(isUnchanged(await rig.done(facts(WIRED), { restartAgents: true })));
  }
  assert.ok(step > 40, `only ${step} changes were tried`);
});

test("reconcile() converges after a fault at every single change of a unit", async () => {
  let step = 0;
  for (let isOver = false; !isOver; step++) {
    const rig = createRig();
    rig.services.failAt(step + 1);
    const report = await rig.run(facts(WIRED), { restartAgents: true });
    isOver = report.ok && report.value.faults.length === 0;
    if (isOver) break;
    await rig.done(facts(WIRED), { restartAgents: true });
    assert.deepEqual(rig.services.active(), ALL_UNITS, `after a fault at change ${step + 1}`);
    assert.ok(isUnchanged(await rig.done(facts(WIRED), { restartAgents: true })));
  }
  assert.ok(step > 12, `only ${step} changes were tried`);
});

test("reconcile() converges from a fault in a change of an existing host", async () => {
  const later = facts({ ada: ["git"], cyd: ["code-host", "maps"] });
  const goal = createRig();
  await goal.done(facts(WIRED), { restartAgents: true });
  await goal.done(later, { restartAgents: true });
  const wanted = await goal.snapshot();
  for (let step = 1; step <= 30; step++) {
    const rig = createRig();
    await rig.done(facts(WIRED), { restartAgents: true });
    rig.files.failAt(step, "EIO");
    await rig.run(later, { restartAgents: true });
    await rig.done(later, { restartAgents: true });
    assert.deepEqual(await rig.snapshot(), wanted, `after a fault at change ${step}`);
    assert.deepEqual(rig.services.active(), goal.services.active());
  }
});

test("reconcile() deletes every file of a removed agent and a removed MCP", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: ["git"] }), { restartAgents: true });
  const before = await rig.snapshot();
  await rig.done(facts({ ada: ["git", "notes"], bea: ["code-host"] }), { restartAgents: true });
  assert.ok(rig.services.active().includes("mcp-code-host-bea.socket"));
  const report = await rig.done(facts({ ada: ["git"] }), { restartAgents: true });
  const after = { ...await rig.snapshot() };
  const config = "/r/home/bea/.runtime-b/agent/mcp.json";
  // The file in the home stays, without an entry of fleetctl.
  assert.deepEqual(JSON.parse(after[config]?.slice(4) ?? ""), { mcpServers: {} });
  delete after[config];
  assert.deepEqual(after, before);
  assert.deepEqual(
    unitChanges(report).filter((line) => line.startsWith("stopped")),
    [
      "stopped fleetctl-dial-bea.service",
      "stopped mcp-code-host-bea.socket",
      "stopped mcp-notes.socket",
    ],
  );
});

test("reconcile() keeps a shared socket until the last agent drops the MCP", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: ["notes"], bea: ["notes"] }));
  await rig.done(facts({ ada: [], bea: ["notes"] }));
  assert.ok(rig.services.active().includes("mcp-notes.socket"));
  assert.ok(rig.files.text("/r/etc/fleetctl/gate/notes.json") !== undefined);
  await rig.done(facts({ ada: [], bea: [] }));
  assert.ok(!rig.services.active().includes("mcp-notes.socket"));
  assert.equal(rig.files.text("/r/etc/fleetctl/gate/notes.json"), undefined);
});

test("reconcile() renders a dial unit for an agent without a login identity", async () => {
  const { userEmail: _, ...nameless } = agent("ada");
  const rig = createRig();
  await rig.done(facts({ ada: ["git"] }, { records: [nameless] }));
  // The agent's turns and approvals come from its own host.
  assert.ok(rig.services.active().includes("fleetctl-dial-ada.service"));
  assert.ok(rig.services.active().includes("mcp-git-ada.socket"));
});

test("reconcile() prints diffs and changes nothing when it is a dry run", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: ["git"] }), { restartAgents: true });
  const before = await rig.snapshot();
  const changes = [rig.files.changes.length, rig.services.changes.length];
  const next = facts({ ada: ["git", "maps"] }, { workspace: "/srv/other" });
  const env = next.env.map((file) => ({ ...file, content: `${file.content}NEW_KEY=hidden\n` }));
  const report = await rig.done({ ...next, env }, { dryRun: true, restartAgents: true });
  assert.deepEqual([rig.files.changes.length, rig.services.changes.length], changes);
  assert.deepEqual(await rig.snapshot(), before);
  const lines = printReport(report).join("\n");
  assert.match(lines, /updated +\/r\/etc\/systemd\/system\/mcp-git-ada@\.service\n +-ExecStart=/);
  assert.match(lines, /mcp\.json\n +\+maps/);
  assert.match(lines, /agent-ada\.env\n +\+NEW_KEY/);
  assert.match(lines, /dry run/);
  assert.doesNotMatch(lines + JSON.stringify(reportJson(report)), /hidden|-secret/);
  assert.ok(unitChanges(report).includes("bounced mcp-git-ada.socket"));
});

test("reconcile() reports each step with its position", async () => {
  const seen: string[] = [];
  const rig = createRig();
  await rig.done(facts({ ada: ["git"] }), {
    onStep: (step) => {
      assert.ok(step.index < step.total);
      if (step.state === "done") seen.push(`${step.kind} ${step.subject}`);
    },
  });
  assert.equal(seen[0], "vendor git");
  assert.ok(seen.includes("start fleetctl-gateway.service"));
  assert.ok(seen.includes("write /r/etc/fleetctl/gate/git.json"));
});

test("reconcile() never restarts the daemon that it runs under, and reports it", async () => {
  const rig = createRig({ files: { "/r/usr/lib/fleetctl/fleetctld.js": "1" } });
  await rig.done(facts(WIRED), { restartAgents: true });
  await rig.files.write("/r/usr/lib/fleetctl/fleetctld.js", "2");
  const under = { restartAgents: true, keepDaemon: true };
  for (let run = 0; run < 2; run++) {
    const report = await rig.done(facts(WIRED), under);
    assert.deepEqual(report.units, []);
    assert.match(report.warnings[0] ?? "", /older input until "up" is ended and started again$/);
  }
  const direct = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(unitChanges(direct), ["restarted fleetctl-daemon.service"]);
  assert.deepEqual((await rig.done(facts(WIRED), under)).warnings, []);
});
