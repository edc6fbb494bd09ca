/**
 * The planner on a host with a fault: in its root, its record, its service manager or a unit.
 *
 * @module
 */

import assert from "node:assert/strict";
import { facts, manifest } from "tests/units/reconcile/fixture.ts";
import { createRig } from "tests/units/reconcile/rig.ts";
import { ALL_UNITS, test, unitChanges, WIRED } from "tests/units/reconcile/wired_host.ts";

test("reconcile() refuses each MCP whose socket path would be too long", async () => {
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

test("reconcile() refuses paths that cannot be part of a unit", async () => {
  const report = await createRig().run(facts(WIRED, { root: '/srv/"quoted"' }));
  assert.equal(report.ok, false);
  assert.equal(report.ok ? "" : report.error.code, "path-unusable");
});

test("reconcile() refuses once when the root cannot be written", async () => {
  const rig = createRig();
  rig.files.failUnder("/r", "EACCES");
  const report = await rig.run(facts(WIRED));
  assert.equal(report.ok ? "" : report.error.code, "root-not-writable");
});

test("reconcile() reports what it did not do when no service manager runs", async () => {
  const rig = createRig({ isManagerRunning: false });
  const report = await rig.done(facts(WIRED));
  assert.deepEqual(report.warnings, [
    "no service manager is running: files were written, nothing was started",
  ]);
  assert.deepEqual(rig.services.changes, []);
  const later = createRig({ files: {} });
  assert.ok(later.services.active().length === 0);
});

test("reconcile() repeats a failed request to the service manager later", async () => {
  const quiet = createRig({ isManagerRunning: false });
  await quiet.done(facts(WIRED));
  const texts = Object.fromEntries(
    quiet.files.paths().map((path) => [path, quiet.files.text(path) ?? ""]),
  );
  const rig = createRig({ files: texts });
  await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual(rig.services.active(), ALL_UNITS);
});

test("reconcile() warns and continues when its record is unreadable", async () => {
  const rig = createRig({ files: { "/r/var/lib/fleetctl/rendered.json": "{ broken" } });
  const report = await rig.done(facts(WIRED));
  assert.match(report.warnings[0] ?? "", /record of rendered files was unreadable/);
});

test("reconcile() trusts a record only for paths that fleetctl writes", async () => {
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

test("reconcile() starts a unit again that runs without serving", async () => {
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

test("reconcile() leaves a slow unit alone that serves in the meantime", async () => {
  const rig = createRig();
  const dial = "fleetctl-dial-ada.service";
  for (const unit of [dial, GATEWAY]) rig.services.hangUnit(unit, true);
  const slow = await rig.done(facts(WIRED), { restartAgents: true });
  assert.equal(slow.faults.length, 2);
  for (const unit of [dial, GATEWAY]) rig.services.wakeUnit(unit);
  const report = await rig.done(facts(WIRED), { restartAgents: true });
  assert.deepEqual([report.faults, unitChanges(report)], [[], []]);
});
