/**
 * The planner on a real host's layout (root `/`, accounts, owners), in memory: owners of files,
 * homes through children, accounts that are missing.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { MemoryFiles } from "tests/fakes/files.ts";
import { facts } from "tests/units/reconcile/fixture.ts";
import { memoryHomes, unwritable } from "tests/units/reconcile/memory_homes.ts";
import { accounts, createRig, type Rig } from "tests/units/reconcile/rig.ts";
import { isUnchanged } from "units/reconcile/report.ts";

const WIRED = { ada: ["git", "notes"], bea: ["notes"] };
const GROUPS = {
  root: 0,
  agents: 500,
  "fleetctl-gateway": 1000,
  "fleetctl-login": 1500,
  "fleetctl-teamchat": 1501,
  "fleetctl-teamchat-receiver": 1502,
};

/** A host with accounts; `children` are the uid and path of each request to a home. */
function realHost(...agents: readonly string[]): Rig & { readonly children: readonly string[] } {
  const children: string[] = [];
  const machine: { files?: MemoryFiles } = {};
  const rig = createRig({
    root: "/",
    users: { users: accounts(...agents).slice(1), groups: GROUPS },
    openHomes: () =>
      memoryHomes(machine.files as MemoryFiles, (uid, _, path) => children.push(`${uid} ${path}`)),
  });
  machine.files = rig.files;
  return { ...rig, children };
}

Deno.test("reconcile() gives each file the owner that its readers need", async () => {
  const rig = realHost("ada", "bea");
  const report = await rig.done(facts(WIRED, { root: "/" }), { restartAgents: true });
  assert.deepEqual(report.faults, []);
  const owner = async (path: string) => {
    const stat = await rig.files.stat(path);
    return [stat?.uid, stat?.gid, stat?.mode.toString(8)];
  };
  assert.deepEqual(await owner("/etc/fleetctl/env/agent-ada.env"), [0, 1001, "640"]);
  assert.deepEqual(await owner("/etc/fleetctl/env/mcp-shared.env"), [0, 500, "640"]);
  assert.deepEqual(await owner("/etc/fleetctl/env/webview-gateway.env"), [0, 1000, "640"]);
  assert.deepEqual(await owner("/var/lib/fleetctl/gateway"), [1000, 1000, "700"]);
  assert.deepEqual(await owner("/var/lib/fleetctl/permissions/host.json"), [0, 0, "644"]);
  assert.deepEqual(await owner("/var/lib/fleetctl/rendered.json"), [0, 0, "600"]);
  assert.ok(isUnchanged(await rig.done(facts(WIRED, { root: "/" }), { restartAgents: true })));
});

Deno.test("reconcile() touches a home only as its agent", async () => {
  const rig = realHost("ada", "bea");
  await rig.done(facts(WIRED, { root: "/" }));
  assert.ok(rig.children.includes("1001 /home/ada/.runtime-b/agent/mcp.json"));
  assert.ok(rig.children.includes("1002 /home/bea/.runtime-b/agent/mcp.json"));
  const direct = rig.files.changes.filter((line) => /^write .*\/home\/.*mcp\.json/.test(line));
  assert.equal(direct.length, 2, "the two that the children made");
});

Deno.test("reconcile() reads a home again only when its file was replaced", async () => {
  const rig = realHost("ada", "bea");
  const given = facts(WIRED, { root: "/" });
  await rig.done(given, { restartAgents: true });
  const before = rig.children.length;
  assert.ok(isUnchanged(await rig.done(given, { restartAgents: true })));
  assert.deepEqual(rig.children.slice(before), [], "one look at each file was enough");
  const path = "/home/ada/.runtime-b/agent/mcp.json";
  const text = rig.files.text(path) ?? "";
  await rig.files.write(path, text.replace('"git"', '"mine"'), { mode: 0o600 });
  const report = await rig.done(given, { restartAgents: true });
  assert.deepEqual(
    report.files.filter(({ change }) => change !== "unchanged").map((file) => file.path),
    [path],
  );
  assert.match(rig.files.text(path) ?? "", /"git"/);
  assert.ok(!rig.children.slice(before).some((line) => line.includes("/home/bea")));
});

Deno.test("reconcile() makes folders that a server may write to, leaves their modes", async () => {
  const rig = realHost("ada", "bea");
  await rig.done(facts(WIRED, { root: "/" }));
  for (const folder of ["/home/ada/.cache/fleetctl/mcp-git", "/home/ada/repos"]) {
    assert.ok(rig.children.includes(`1001 ${folder}`), rig.children.join("\n"));
    assert.equal((await rig.files.stat(folder))?.mode, 0o700);
  }
  await rig.files.setMeta("/home/ada/repos", { mode: 0o755 });
  const again = await rig.done(facts(WIRED, { root: "/" }));
  assert.ok(isUnchanged(again));
  assert.equal((await rig.files.stat("/home/ada/repos"))?.mode, 0o755);
});

Deno.test("reconcile() restores an owner and a mode that were changed", async () => {
  const rig = realHost("ada", "bea");
  await rig.done(facts(WIRED, { root: "/" }));
  await rig.files.write("/etc/fleetctl/env/agent-ada.env", "stolen", { mode: 0o644, uid: 1002 });
  const report = await rig.done(facts(WIRED, { root: "/" }));
  const changed = report.files.filter((file) => file.change !== "unchanged");
  assert.deepEqual(changed.map((file) => file.path), ["/etc/fleetctl/env/agent-ada.env"]);
});

Deno.test("reconcile() holds an agent without an account, continues with others", async () => {
  const rig = realHost("bea");
  const report = await rig.done(facts(WIRED, { root: "/" }), { restartAgents: true });
  assert.deepEqual(report.faults.map((fault) => [fault.code, fault.hints]), [[
    "agent-account-missing",
    ["useradd --create-home --user-group --groups agents ada"],
  ]]);
  assert.ok(rig.services.active().includes("fleetctl-dial-bea.service"));
  assert.ok(!rig.services.active().some((unit) => unit.includes("ada")));
});

Deno.test("reconcile() removes nothing of an agent whose account has vanished", async () => {
  const rig = realHost("ada", "bea");
  await rig.done(facts(WIRED, { root: "/" }), { restartAgents: true });
  const paths = rig.files.paths().filter((path) => path.includes("ada"));
  const less = { ...rig.ports, users: realHost("bea").ports.users };
  const { reconcile } = await import("units/reconcile/run.ts");
  const report = await reconcile(facts(WIRED, { root: "/" }), less, { restartAgents: true });
  assert.ok(report.ok);
  assert.deepEqual(rig.files.paths().filter((path) => path.includes("ada")), paths);
});

Deno.test("reconcile() refuses when the product's own accounts are missing", async () => {
  const rig = createRig({ root: "/", users: { groups: { root: 0 } } });
  const report = await rig.run(facts(WIRED, { root: "/" }));
  assert.ok(!report.ok);
  assert.equal(report.error.code, "account-missing");
  assert.deepEqual(report.error.hints, [
    "groupadd --system agents",
    "groupadd --system fleetctl-gateway",
    "useradd --system --user-group --no-create-home fleetctl-gateway",
    "groupadd --system fleetctl-login",
    "useradd --system --user-group --no-create-home fleetctl-login",
    "groupadd --system fleetctl-teamchat",
    "useradd --system --user-group --no-create-home fleetctl-teamchat",
    "groupadd --system fleetctl-teamchat-receiver",
    "useradd --system --user-group --no-create-home fleetctl-teamchat-receiver",
  ]);
});

Deno.test("reconcile() names the home that cannot be written and continues", async () => {
  const rig = realHost("ada", "bea");
  const { reconcile } = await import("units/reconcile/run.ts");
  const report = await reconcile(facts({ ada: ["git"] }, { root: "/" }), {
    ...rig.ports,
    openHomes: () => memoryHomes(rig.files, unwritable),
  });
  assert.ok(report.ok);
  // The dial unit's folder, the workspace, two that the server may write, and the client config.
  const codes = report.value.faults.map((fault) => fault.code);
  assert.deepEqual(codes, Array(5).fill("home-not-writable"));
  assert.ok(rig.services.active().includes("mcp-git-ada.socket"));
});
