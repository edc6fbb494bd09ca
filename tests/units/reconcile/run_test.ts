/**
 * The planner as a whole, on hosts in memory: idempotence, faults at every step, holding what is
 * faulty, restart rules, removal.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { AgentName, McpName } from "core/names.ts";
import type { Facts } from "units/reconcile/facts.ts";
import { isUnchanged, printReport, reportJson } from "units/reconcile/report.ts";
import { agent, facts, manifest } from "tests/units/reconcile/fixture.ts";
import { createRig } from "tests/units/reconcile/rig.ts";

const WIRED = { ada: ["git", "notes", "maps"], bea: ["notes", "code-host"] };
const ALL_UNITS = [
  "fleetctl-daemon.service",
  "fleetctl-dial-ada.service",
  "fleetctl-dial-bea.service",
  "fleetctl-gateway.service",
  "fleetctl-host.service",
  "fleetctl-login.service",
  "fleetctl-teamchat-receiver.service",
  "fleetctl-teamchat.service",
  "mcp-code-host-bea.socket",
  "mcp-git-ada.socket",
  "mcp-notes.socket",
];

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, sanitizeOps: true, sanitizeResources: true, fn });
}

function unitChanges(report: { readonly units: readonly { unit: string; change: string }[] }) {
  return report.units.map((line) => `${line.change} ${line.unit}`).sort();
}

test("reconcile() starts everything on an empty host, and changes nothing the second time", async () => {
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
    isOver = report.ok;
    if (report.ok) break;
    assert.equal(report.error.code, "disk-full");
    assert.deepEqual(report.error.hints, ["df -h /r/var/lib/fleetctl", "fleetctl apply"]);
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

test("reconcile() leaves nothing behind of an agent and an MCP that are gone", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: ["git"] }), { restartAgents: true });
  const before = await rig.snapshot();
  await rig.done(facts({ ada: ["git", "notes"], bea: ["code-host"] }), { restartAgents: true });
  assert.ok(rig.services.active().includes("mcp-code-host-bea.socket"));
  const report = await rig.done(facts({ ada: ["git"] }), { restartAgents: true });
  const after = { ...await rig.snapshot() };
  const config = "/r/home/bea/.runtime-b/agent/mcp.json";
  // The file in the home stays, without an entry of ours.
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

test("reconcile() states a restart instead of doing it when an MCP is added", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: [] }), { restartAgents: true });
  const added = await rig.done(facts({ ada: ["git"] }));
  assert.deepEqual(added.restartPending, ["ada"]);
  assert.deepEqual(unitChanges(added), ["started mcp-git-ada.socket"]);
  assert.match(printReport(added).at(-1) ?? "", /live only after a restart of agent "ada"/);
  const again = await rig.done(facts({ ada: ["git"] }));
  assert.deepEqual(again.restartPending, ["ada"], "still running with the old config");
  const applied = await rig.done(facts({ ada: ["git"] }), { restartAgents: true });
  assert.deepEqual(unitChanges(applied), ["restarted fleetctl-dial-ada.service"]);
  assert.deepEqual(applied.restartPending, []);
});

test("reconcile() takes an agent that somebody restarted for live", async () => {
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
  const gateway = { ...before.roles.gateway!, adminsJson: '["ada"]' };
  const report = await rig.done({ ...before, roles: { ...before.roles, gateway } }, {
    restartAgents: true,
  });
  assert.deepEqual(unitChanges(report), ["restarted fleetctl-gateway.service"]);
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

test("reconcile() makes up for a bounce that failed", async () => {
  const rig = createRig();
  await rig.done(facts(WIRED), { restartAgents: true });
  rig.upgrade.add("git");
  rig.services.failAt(1);
  const failed = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(failed.faults.map((fault) => fault.code), ["unit-failed"]);
  const report = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(unitChanges(report), ["bounced mcp-git-ada.socket"]);
});

test("reconcile() bounces the servers of a changed key and states the agent's restart", async () => {
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

test("reconcile() leaves a stopped agent stopped unless it is applied", async () => {
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

test("reconcile() holds an MCP whose tree cannot be had and goes on with the rest", async () => {
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

test("reconcile() leaves a running MCP alone when its tree can no longer be had", async () => {
  const rig = createRig();
  await rig.done(facts(WIRED), { restartAgents: true });
  const before = await rig.snapshot();
  rig.broken.add("git");
  const report = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(report.faults.map((fault) => fault.code), ["package-missing"]);
  const { ["/r/usr/lib/fleetctl/permissions-ada.json"]: _, ...now } = await rig.snapshot();
  const { ["/r/usr/lib/fleetctl/permissions-ada.json"]: __, ...then } = before;
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

test("reconcile() refuses a root whose sockets would have too long a path, per MCP", async () => {
  const root = `/${"r".repeat(72)}`;
  const rig = createRig({ root });
  const long = manifest("a-name-of-thirty-one-characters");
  const base = facts({ ada: ["git", long.name] }, { root });
  const report = await rig.done({
    ...base,
    catalog: new Map([...base.catalog, [long.name, long]]),
  });
  assert.deepEqual(report.faults.map((fault) => fault.code), ["socket-path-too-long"]);
  assert.ok(rig.services.active().includes("mcp-git-ada.socket"));
});

test("reconcile() refuses paths that cannot stand in a unit", async () => {
  const report = await createRig().run(facts(WIRED, { workdir: '/srv/"quoted"' }));
  assert.equal(report.ok, false);
  assert.equal(report.ok ? "" : report.error.code, "path-unusable");
});

test("reconcile() refuses once when the root cannot be written", async () => {
  const rig = createRig();
  rig.files.failUnder("/r", "EACCES");
  const report = await rig.run(facts(WIRED));
  assert.equal(report.ok ? "" : report.error.code, "root-not-writable");
});

test("reconcile() says what it did not do when no service manager runs", async () => {
  const rig = createRig({ isManagerRunning: false });
  const report = await rig.done(facts(WIRED));
  assert.deepEqual(report.warnings, [
    "no service manager is running: files were written, nothing was started",
  ]);
  assert.deepEqual(rig.services.changes, []);
  const later = createRig({ files: {} });
  assert.ok(later.services.active().length === 0);
});

test("reconcile() tells the service manager later what it could not tell before", async () => {
  const quiet = createRig({ isManagerRunning: false });
  await quiet.done(facts(WIRED));
  const texts = Object.fromEntries(
    quiet.files.paths().map((path) => [path, quiet.files.text(path) ?? ""]),
  );
  const rig = createRig({ files: texts });
  await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(rig.services.active(), ALL_UNITS);
});

test("reconcile() warns and goes on when its record is unreadable", async () => {
  const rig = createRig({ files: { "/r/var/lib/fleetctl/rendered.json": "{ broken" } });
  const report = await rig.done(facts(WIRED));
  assert.match(report.warnings[0] ?? "", /record of rendered files was unreadable/);
});

test("reconcile() believes a record only where we ever write", async () => {
  const record = {
    format: 1,
    files: [{ path: "/r/srv/precious" }, { path: "/r/etc/fleetctl/../precious" }],
    clients: [],
    units: {},
    isReloadDue: false,
  };
  const rig = createRig({
    files: {
      "/r/var/lib/fleetctl/rendered.json": JSON.stringify(record),
      "/r/srv/precious": "keep",
      "/r/etc/precious": "keep",
    },
  });
  await rig.done(facts(WIRED));
  assert.equal(rig.files.text("/r/srv/precious"), "keep");
  assert.equal(rig.files.text("/r/etc/precious"), "keep");
});

test("reconcile() reports the failed unit with its log and starts the others", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: [] }, { roles: {} }));
  const whole = facts(WIRED);
  rig.services.failUnit("fleetctl-dial-ada.service", true);
  const report = await rig.done(whole, { restartAgents: true });
  assert.deepEqual(report.faults.map((fault) => [fault.code, fault.details, fault.hints]), [
    ["unit-failed", ["oh"], ["journalctl -u fleetctl-dial-ada.service -n 50"]],
  ]);
  assert.deepEqual(rig.services.active(), ALL_UNITS.filter((unit) => !unit.includes("dial-ada")));
});

const GATEWAY = "fleetctl-gateway.service";

test("reconcile() tries a unit that runs and never serves again until it does", async () => {
  for (const isFirst of [true, false]) {
    const rig = createRig();
    const whole = facts(WIRED);
    if (!isFirst) await rig.done(whole, { restartAgents: true });
    rig.services.hangUnit(GATEWAY, true);
    await rig.services.stop(GATEWAY);
    for (const change of ["start", "restart"]) {
      const report = await rig.done(whole, { restartAgents: true });
      assert.deepEqual(report.faults.map((fault) => [fault.code, fault.details]), [
        ["unit-failed", ["hm"]],
      ]);
      assert.equal(
        rig.services.changes.filter((one) => one.endsWith(GATEWAY)).at(-1),
        `${change} ${GATEWAY}`,
      );
      assert.deepEqual(rig.services.active(), ALL_UNITS);
    }
    rig.services.hangUnit(GATEWAY, false);
    const repaired = await rig.done(whole, { restartAgents: true });
    assert.deepEqual(repaired.faults, []);
    assert.deepEqual(unitChanges(repaired), [`restarted ${GATEWAY}`]);
    assert.deepEqual(unitChanges(await rig.done(whole, { restartAgents: true })), []);
  }
});

test("reconcile() leaves a unit alone that was slow and serves by now", async () => {
  const rig = createRig();
  const dial = "fleetctl-dial-ada.service";
  for (const unit of [dial, GATEWAY]) rig.services.hangUnit(unit, true);
  const slow = await rig.done(facts(WIRED), { restartAgents: true });
  assert.equal(slow.faults.length, 2);
  for (const unit of [dial, GATEWAY]) rig.services.wakeUnit(unit);
  const report = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual([report.faults, unitChanges(report)], [[], []]);
});

test("reconcile() renders no dial unit for an agent without a login identity", async () => {
  const { userEmail: _, ...nameless } = agent("ada");
  const rig = createRig();
  await rig.done(facts({ ada: ["git"] }, { records: [nameless] }));
  assert.ok(!rig.services.active().some((unit) => unit.includes("dial")));
  assert.ok(rig.services.active().includes("mcp-git-ada.socket"));
});

test("reconcile() prints diffs and changes nothing when it is a dry run", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: ["git"] }), { restartAgents: true });
  const before = await rig.snapshot();
  const changes = [rig.files.changes.length, rig.services.changes.length];
  const next = facts({ ada: ["git", "maps"] }, { workdir: "/srv/other" });
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

test("reconcile() reports each step with its place", async () => {
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

test("reconcile() never restarts the daemon that it runs under, and says so until it was", async () => {
  const rig = createRig({ files: { "/r/usr/lib/fleetctl/fleetctld.js": "1" } });
  await rig.done(facts(WIRED), { restartAgents: true });
  await rig.files.write("/r/usr/lib/fleetctl/fleetctld.js", "2");
  const under = { restartAgents: true, keepDaemon: true };
  for (let run = 0; run < 2; run++) {
    const report = await rig.done(facts(WIRED), under);
    assert.deepEqual(report.units, []);
    assert.match(report.warnings[0] ?? "", /systemctl restart fleetctl-daemon\.service/);
  }
  const direct = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(unitChanges(direct), ["restarted fleetctl-daemon.service"]);
  assert.deepEqual((await rig.done(facts(WIRED), under)).warnings, []);
});
