/**
 * How `apply` replaces agents by a new version of the programs: idle ones at once, busy ones when
 * their turn ends or when they have waited long enough. What survives is in the record.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { Email, McpName } from "core/names.ts";
import { parseRecord, recordPath } from "units/reconcile/record.ts";
import { REPLACEMENT_MS_MAX } from "units/reconcile/replacement.ts";
import { replaceWaiting, type Round } from "units/reconcile/replace_waiting.ts";
import { printReport } from "units/reconcile/report.ts";
import type { Facts } from "units/reconcile/facts.ts";
import { facts } from "tests/units/reconcile/fixture.ts";
import { createRig, type Rig } from "tests/units/reconcile/rig.ts";
import { test, unitChanges, WIRED } from "tests/units/reconcile/wired_host.ts";

const PROGRAM = "/r/usr/lib/fleetctl/fleetctl-runtime.js";
const APPLY = { restartAgents: true } as const;
const ADA = "restarted fleetctl-dial-ada.service";
const BEA = "restarted fleetctl-dial-bea.service";
const { paths } = facts(WIRED);

/** A host with the first version, on which `ada` has a turn. */
async function hostWithTurn(): Promise<Rig> {
  const rig = createRig({ files: { [PROGRAM]: "1" } });
  await rig.done(facts(WIRED), APPLY);
  rig.busy.add("ada");
  return rig;
}

/** That host after an upgrade. */
async function upgradedHost(): Promise<Rig> {
  const rig = await hostWithTurn();
  await rig.files.write(PROGRAM, "2");
  await rig.done(facts(WIRED), APPLY);
  rig.asked.splice(0);
  return rig;
}

async function round(rig: Rig): Promise<Round> {
  const done = await replaceWaiting(paths, rig.ports, () => {});
  assert.ok(done.ok);
  return done.value;
}

const changesOf = ({ units }: Round) => units.map(({ unit, change }) => `${change} ${unit}`);

async function recordedAda(rig: Rig) {
  const record = parseRecord(await rig.files.readText(recordPath(paths)) ?? "");
  return record?.units["fleetctl-dial-ada.service"];
}

/** The facts with a changed record of `ada`. */
function withAda(change: Partial<AgentRecord>): Facts {
  const all = facts(WIRED);
  return {
    ...all,
    agents: all.agents.map((agent) => agent.name === "ada" ? { ...agent, ...change } : agent),
  };
}

test("a new version replaces idle agents and lets busy ones wait", async () => {
  const rig = await hostWithTurn();
  await rig.files.write(PROGRAM, "2");
  const report = await rig.done(facts(WIRED), APPLY);
  assert.ok(unitChanges(report).includes(BEA), unitChanges(report).join());
  assert.ok(!unitChanges(report).includes(ADA));
  assert.deepEqual(report.waiting, [{
    agent: "ada",
    since: "2026-01-01T00:00:00.000Z",
    until: "2026-01-01T00:30:00.000Z",
  }]);
  assert.deepEqual(report.restartPending, []);
  assert.match(
    printReport(report).join("\n"),
    /agent "ada" runs the old version .* at the latest until 2026-01-01T00:30:00.000Z: fleetctl apply --now/,
  );
});

test("a dry run asks no dial unit and shows who waits", async () => {
  const rig = await upgradedHost();
  const report = await rig.done(facts(WIRED), { dryRun: true });
  assert.deepEqual(report.waiting.map(({ agent }) => agent), ["ada"]);
  await rig.done(facts(WIRED), { ...APPLY, dryRun: true });
  assert.deepEqual(rig.asked, []);
});

test("a busy agent is replaced in the first round after its turn", async () => {
  const rig = await upgradedHost();
  assert.deepEqual((await round(rig)).waiting.map(({ agent }) => agent), ["ada"]);
  rig.busy.delete("ada");
  const done = await round(rig);
  assert.deepEqual([changesOf(done), done.waiting], [[ADA], []]);
  assert.deepEqual(rig.asked, ["ada", "ada"]);
  assert.deepEqual(changesOf(await round(rig)), []);
  assert.deepEqual(unitChanges(await rig.done(facts(WIRED), APPLY)), []);
});

test("a busy agent is replaced during its turn at the limit", async () => {
  const rig = await upgradedHost();
  await rig.clock.advance(REPLACEMENT_MS_MAX - 1);
  assert.deepEqual(changesOf(await round(rig)), []);
  await rig.clock.advance(1);
  assert.deepEqual(changesOf(await round(rig)), [ADA]);
  assert.deepEqual(rig.asked, ["ada", "ada due"]);
});

test("apply replaces an agent at the limit, and counts from the first upgrade", async () => {
  const rig = await upgradedHost();
  await rig.clock.advance(REPLACEMENT_MS_MAX - 1);
  await rig.files.write(PROGRAM, "3");
  const again = await rig.done(facts(WIRED), APPLY);
  assert.deepEqual(again.waiting.map(({ since }) => since), ["2026-01-01T00:00:00.000Z"]);
  await rig.clock.advance(1);
  assert.deepEqual(unitChanges(await rig.done(facts(WIRED), APPLY)), [ADA]);
  assert.deepEqual(rig.asked.at(-1), "ada due");
});

test("apply --now replaces a busy agent and tells its owner", async () => {
  const rig = await upgradedHost();
  const report = await rig.done(facts(WIRED), { ...APPLY, replaceNow: true });
  assert.deepEqual([unitChanges(report), report.waiting], [[ADA], []]);
  assert.deepEqual(rig.asked, ["ada due"]);
});

const AT_ONCE: readonly (readonly [string, (rig: Rig) => Promise<Facts>])[] = [
  [
    "another owner",
    async () => withAda({ userEmail: "eve@example.org" as Email }),
  ],
  ["another model", async () => withAda({ model: "small" })],
  ["a removed MCP", async () => facts({ ...WIRED, ada: [] })],
  ["a removed key", async () => {
    const all = facts(WIRED);
    const isAdas = (path: string) => path.endsWith("agent-ada.env");
    const others = all.env.filter((file) => !isAdas(file.path));
    const own = all.env.find((file) => isAdas(file.path));
    assert.ok(own !== undefined, "ada has keys");
    return { ...all, env: [...others, { ...own, content: "" }] };
  }],
];

for (const [name, change] of AT_ONCE) {
  test(`${name} ends the wait of a busy agent`, async () => {
    const rig = await upgradedHost();
    const report = await rig.done(await change(rig), APPLY);
    assert.ok(unitChanges(report).includes(ADA), unitChanges(report).join());
    assert.deepEqual(rig.asked, []);
    assert.equal((await recordedAda(rig))?.waitsSince, undefined);
  });

  test(`${name} together with a new version does not wait`, async () => {
    const rig = await hostWithTurn();
    await rig.files.write(PROGRAM, "2");
    const report = await rig.done(await change(rig), APPLY);
    assert.ok(unitChanges(report).includes(ADA), unitChanges(report).join());
    assert.ok(!rig.asked.includes("ada"));
  });
}

test("an agent that was stopped on purpose does not wait", async () => {
  const rig = await upgradedHost();
  const stopped = await rig.done(withAda({ stopped: "2026-01-01T00:00:00Z" }), APPLY);
  assert.ok(unitChanges(stopped).includes("stopped fleetctl-dial-ada.service"));
  assert.deepEqual(changesOf(await round(rig)), []);
});

test("an agent that was restarted by hand no longer waits", async () => {
  const rig = await upgradedHost();
  await rig.services.restart("fleetctl-dial-ada.service");
  assert.deepEqual(await round(rig), { units: [], faults: [], waiting: [] });
  assert.equal((await recordedAda(rig))?.waitsSince, undefined);
});

test("a record without an origin restarts at once", async () => {
  const rig = await hostWithTurn();
  const path = recordPath(paths);
  const record = JSON.parse(await rig.files.readText(path) ?? "");
  for (const unit of Object.values<Record<string, unknown>>(record.units)) delete unit.origin;
  await rig.files.write(path, JSON.stringify(record));
  await rig.files.write(PROGRAM, "2");
  assert.ok(unitChanges(await rig.done(facts(WIRED), APPLY)).includes(ADA));
});

test("a replacement that fails is reported once and left to the next apply", async () => {
  const rig = await upgradedHost();
  rig.busy.delete("ada");
  rig.services.failAt(1);
  const failed = await round(rig);
  assert.deepEqual(failed.faults.map(({ code }) => code), ["unit-failed"]);
  assert.deepEqual(await round(rig), { units: [], faults: [], waiting: [] });
});

const SOCKET = "mcp-git-ada.socket";

/** A busy host after an upgrade that renders the socket of `ada` differently. */
async function hostWithNewSocket(): Promise<Rig> {
  const rig = createRig({ files: { "/r/usr/lib/fleetctl/fleetctl-mcp.js": "1" } });
  await rig.done(facts(WIRED), APPLY);
  rig.busy.add("ada");
  const path = recordPath(paths);
  const record = JSON.parse(await rig.files.readText(path) ?? "");
  record.units[SOCKET].inputs = "as the old version rendered it";
  await rig.files.write(path, JSON.stringify(record));
  await rig.files.write("/r/usr/lib/fleetctl/fleetctl-mcp.js", "2");
  return rig;
}

test("a new version of an agent's socket waits, and its servers end after the turn", async () => {
  const rig = await hostWithNewSocket();
  const report = await rig.done(facts(WIRED), APPLY);
  assert.deepEqual(unitChanges(report), []);
  assert.deepEqual(report.waiting.map(({ agent }) => agent), ["ada"]);
  const shown = await rig.done(facts(WIRED), { dryRun: true });
  assert.deepEqual([unitChanges(shown), shown.waiting.length], [[], 1]);
  assert.deepEqual(changesOf(await round(rig)), []);
  rig.busy.delete("ada");
  assert.deepEqual(changesOf(await round(rig)), [`bounced ${SOCKET}`]);
  assert.deepEqual(rig.services.active().includes(SOCKET), true);
  assert.deepEqual(unitChanges(await rig.done(facts(WIRED), APPLY)), []);
});

test("a socket that has waited for the limit is bounced during the turn", async () => {
  const rig = await hostWithNewSocket();
  await rig.done(facts(WIRED), APPLY);
  await rig.clock.advance(REPLACEMENT_MS_MAX);
  assert.deepEqual(changesOf(await round(rig)), [`bounced ${SOCKET}`]);
  assert.deepEqual(rig.asked, ["ada"], "an MCP tells no owner");
});

test("a socket does not wait for a dial unit that does not run", async () => {
  const rig = await hostWithNewSocket();
  await rig.services.stop("fleetctl-dial-ada.service");
  const report = await rig.done(facts(WIRED), APPLY);
  assert.ok(unitChanges(report).includes(`bounced ${SOCKET}`), unitChanges(report).join());
});

test("a socket whose server may do less does not wait", async () => {
  const rig = await hostWithNewSocket();
  const all = facts(WIRED);
  const catalog = new Map(all.catalog);
  const git = all.catalog.get("git" as McpName);
  assert.ok(git !== undefined);
  const narrow = { ...git.permissions, run: [] };
  catalog.set(git.name, { ...git, permissions: narrow });
  const report = await rig.done({ ...all, catalog }, APPLY);
  assert.ok(unitChanges(report).includes(`bounced ${SOCKET}`), unitChanges(report).join());
});

for (const [name, text] of [["missing", undefined], ["damaged", "{"], ["foreign", "[]"]] as const) {
  test(`a round with a ${name} record does nothing`, async () => {
    const rig = await upgradedHost();
    const path = recordPath(paths);
    if (text === undefined) await rig.files.remove(path);
    else await rig.files.write(path, text);
    assert.deepEqual(await round(rig), { units: [], faults: [], waiting: [] });
    assert.equal(await rig.files.readText(path), text);
  });
}
