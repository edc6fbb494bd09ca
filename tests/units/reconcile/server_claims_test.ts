/**
 * One socket unit belongs to one MCP of one agent, even if other names join to the same unit name.
 * The current holder keeps it.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { McpName } from "core/names.ts";
import { agent, facts, manifest, MANIFESTS } from "tests/units/reconcile/fixture.ts";
import { createRig } from "tests/units/reconcile/rig.ts";

const APPLY = { restartAgents: true } as const;
const catalog = new Map(
  [...MANIFESTS, manifest("git-x"), manifest("git-ada", { sharing: "shared" })]
    .map((each) => [each.name as McpName, each]),
);
const UNIT = "/r/etc/systemd/system/mcp-git-x-ada@.service";
const client = (name: string) => `/r/home/${name}/.runtime-b/agent/mcp.json`;

for (
  const [first, second, refused] of [
    [{ ada: ["git-x"], "x-ada": [] }, { ada: ["git-x"], "x-ada": ["git"] }, "x-ada"],
    [{ ada: [], "x-ada": ["git"] }, { ada: ["git-x"], "x-ada": ["git"] }, "ada"],
  ] as const
) {
  Deno.test(`reconcile() leaves a unit to its present owner; ${refused} gets none`, async () => {
    const rig = createRig();
    await rig.done(facts(first, { catalog }), APPLY);
    const unit = await rig.files.readText(UNIT);
    const report = await rig.done(facts(second, { catalog }), APPLY);
    assert.deepEqual(report.faults.map(({ code }) => code), ["mcp-names-collide"]);
    assert.match(
      report.faults[0]?.message ?? "",
      /its unit "mcp-git-x-ada.socket" belongs to MCP "git(?:-x)?" of agent "(?:x-)?ada"/,
    );
    assert.equal(await rig.files.readText(UNIT), unit);
    assert.ok(!(await rig.files.readText(client(refused)) ?? "").includes('"git'));
    assert.deepEqual((await rig.done(facts(second, { catalog }), APPLY)).faults.length, 1);
    assert.equal(await rig.files.readText(UNIT), unit);
  });
}

Deno.test("reconcile() refuses a unit to one pair only; other agents keep both MCPs", async () => {
  const rig = createRig();
  const wired = { ada: ["git-x"], "x-ada": ["git"], bea: ["git", "git-x"] };
  const report = await rig.done(facts(wired, { catalog }), APPLY);
  assert.deepEqual(report.faults.map(({ code }) => code), ["mcp-names-collide"]);
  const active = rig.services.active();
  assert.ok(active.includes("mcp-git-bea.socket") && active.includes("mcp-git-x-bea.socket"));
});

Deno.test("reconcile() frees a unit with the MCP that had it", async () => {
  const rig = createRig();
  await rig.done(facts({ ada: ["git-x"], "x-ada": ["git"] }, { catalog }), APPLY);
  const report = await rig.done(facts({ ada: ["git-x"], "x-ada": [] }, { catalog }), APPLY);
  assert.deepEqual(report.faults, []);
  assert.match(await rig.files.readText(UNIT) ?? "", /home\/ada/);
});

Deno.test("reconcile() counts planned accounts only in a dry run", async () => {
  const rig = createRig({ root: "/", users: { groups: { agents: 900 } } });
  const base = facts({ bea: [] }, { root: "/" });
  const given = { ...base, rootless: false, roles: { dial: base.roles.dial! } };
  const bea = agent("bea").name;
  const dry = await rig.done(given, { dryRun: true, plannedAccounts: [bea] });
  assert.deepEqual(dry.faults, []);
  assert.ok(dry.files.some(({ path, change }) => path.includes("-bea") && change === "created"));
  const real = await rig.run(given, { plannedAccounts: [bea] });
  assert.ok(real.ok);
  assert.deepEqual(real.value.faults.map(({ code }) => code), ["agent-account-missing"]);
});
