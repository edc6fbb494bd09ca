/**
 * Display texts for hosts and jobs, from documents of this version and of any other.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  addCommands,
  agentsOf,
  agentsWords,
  type Fleet,
  formatRun,
  hostShape,
  type HostView,
  jobName,
  jobState,
  parseFleet,
  parseJob,
  parseReport,
  parseStatus,
  presenceWords,
  withForgotten,
} from "gateway/web/state/hosts.ts";
import { parseCard } from "gateway/web/state/wire.ts";
import { APPLIED_PARTLY, ILL, WELL } from "tests/support/hosts_story.ts";

const NOW = 1_000_000;
const job = (of: Record<string, unknown> = {}) => ({
  id: "j",
  host: "atlas",
  job: "apply",
  agent: null,
  by: "a@example.org",
  begun: NOW,
  ended: null,
  exit: null,
  code: null,
  message: null,
  hints: [],
  ...of,
});
const host = (of: Record<string, unknown> = {}) => ({
  host: "atlas",
  is_online: true,
  version: "1.2.3",
  since: NOW - 60_000,
  is_revoked: false,
  jobs: [],
  ...of,
});

function fleet(...hosts: readonly unknown[]): Fleet {
  const read = parseFleet({ hosts, is_complete: true, version: "1.2.3", gateway: "atlas" });
  assert.ok(read);
  return read;
}
const only = (of: Fleet): HostView => {
  const [first] = of.hosts;
  assert.ok(first);
  return first;
};

Deno.test("parseFleet() sorts by name, and accepts any input", () => {
  assert.equal(parseFleet(undefined), undefined);
  const names = fleet(host({ host: "zeta" }), host(), { host: 7 }, null, "x");
  assert.deepEqual(names.hosts.map(({ host }) => host), ["atlas", "zeta"]);
  assert.equal(parseFleet({})?.isComplete, true, "older gateways say nothing of it");
  fc.assert(fc.property(fc.jsonValue(), fc.integer(), (value, exit) => {
    parseFleet({ hosts: value });
    parseFleet({ hosts: [{ host: "a", jobs: value }] });
    parseStatus(value, exit);
    parseReport(value, exit);
    for (const key of ["problems", "roles", "agents", "faults", "files", "units", "error"]) {
      parseStatus({ [key]: value }, exit);
      parseReport({ [key]: value }, exit);
    }
  }));
});

Deno.test("presenceWords() distinguishes connected, disconnected and revoked hosts", () => {
  const words = (of: Record<string, unknown>) => presenceWords(only(fleet(host(of))), NOW);
  assert.equal(words({ since: NOW }), "connected just now");
  assert.equal(words({ since: NOW - 3 * 3_600_000 }), "connected for 3 h");
  const away = { is_online: false };
  assert.equal(words({ ...away, since: NOW - 60_000 }), "not connected, last seen 1 min ago");
  assert.equal(
    words({ ...away, since: null }),
    "not connected, not seen since the gateway started",
  );
  assert.equal(
    words({ ...away, is_revoked: true, since: NOW }),
    "blocked: its keys are revoked; last seen just now",
  );
});

Deno.test("jobState() never reports a job as done while its end is unknown", () => {
  const rows: readonly [Record<string, unknown>, string][] = [
    [{}, "runs"],
    [{ ended: NOW, exit: 0 }, "done"],
    [{ ended: NOW, exit: 3 }, "failed, exit code 3"],
    [{ ended: NOW, code: "host-lost" }, "result unknown"],
    [{ ended: NOW, code: "host-late" }, "result unknown"],
    [{ ended: NOW, code: "host-job-failed" }, "not run"],
    [{ ended: NOW }, "result unknown"],
  ];
  for (const [of, words] of rows) assert.equal(jobState(parseJob(job(of))).words, words);
  assert.equal(jobName(parseJob(job({ job: "restart", agent: "ada" }))), "restart of ada");
  assert.equal(formatRun(65_400), "1 min 5 s");
  assert.equal(formatRun(-5), "0 s");
});

Deno.test("withForgotten() keeps a job that a gateway forgot, until a newer one is known", () => {
  const before = fleet(host({ jobs: [job()] }));
  const forgotten = withForgotten(before, fleet(host()), NOW + 5_000);
  const [lost] = only(forgotten).jobs;
  assert.equal(lost?.ended, NOW + 5_000);
  assert.equal(jobState(lost ?? parseJob({})).words, "result unknown");
  assert.match(lost?.message ?? "", /gateway restarted/);
  const still = only(withForgotten(forgotten, fleet(host()), NOW + 9_000)).jobs;
  assert.deepEqual(still.map(({ ended }) => ended), [NOW + 5_000], "told once, and not anew");
  const newer = fleet(host({ jobs: [job({ id: "k", begun: NOW + 6_000 })] }));
  assert.deepEqual(only(withForgotten(forgotten, newer, NOW)).jobs.map(({ id }) => id), ["k"]);
  const ended = fleet(host({ jobs: [job({ ended: NOW, exit: 0 })] }));
  assert.equal(only(withForgotten(before, ended, NOW)).jobs[0]?.exit, 0);
  assert.equal(only(withForgotten(ended, fleet(host()), NOW)).jobs.length, 0, "that was told");
});

Deno.test("parseStatus() finds the problems, even if the output is only an error", () => {
  assert.deepEqual(parseStatus(WELL, 0).faults, []);
  const ill = parseStatus(ILL, 0);
  assert.equal(ill.faults.length, 2);
  assert.deepEqual(ill.faults[0]?.hints, ["journalctl -u fleetctl-login.service -n 50"]);
  assert.deepEqual(ill.units.map(({ state }) => state), ["active", "active", "failed"]);
  const error = { code: "lock", message: "Cannot read the ledger", details: [], hints: ["x"] };
  assert.equal(parseStatus({ error }, 1).faults[0]?.message, "Cannot read the ledger");
  assert.match(parseStatus(null, 137).faults[0]?.message ?? "", /exit code 137/);
});

Deno.test("parseReport() counts what changed, and states when nothing had to change", () => {
  const partly = parseReport(APPLIED_PARTLY, 1);
  assert.deepEqual(partly.changes, ["2 files changed", "1 unit restarted"]);
  assert.match(partly.faults[0]?.lines[0] ?? "", /WEBVIEW_BASIC_USERS/);
  const same = { ...APPLIED_PARTLY, files: [], units: [], faults: [], restart_pending: ["ada"] };
  assert.deepEqual(parseReport(same, 0).changes, ["no changes needed"]);
  assert.match(parseReport(same, 0).notes[0] ?? "", /^ada runs with its old configuration/);
  assert.deepEqual(parseReport({ agent: "ada", restarted: true }, 0).changes, []);
  assert.match(parseReport(null, 2).faults[0]?.message ?? "", /exit code 2/);
});

Deno.test("agentsOf() joins a host's report with the current state of its agents", () => {
  const cards = [
    { agent: "zoe", state: "working", is_online: true, host: "Boreas" },
    { agent: "mia", state: "offline", is_online: false, host: null },
    { agent: "ada", state: "idle", is_online: true, host: "atlas" },
  ].map((card) => parseCard(card)).filter((card) => card !== undefined);
  const found = agentsOf("boreas", parseStatus(ILL, 0), cards);
  assert.deepEqual(found.map(({ name, state }) => [name, state]), [
    ["mia", "failed"],
    ["zoe", "working"],
  ]);
  assert.equal(agentsWords(found), "2 agents, 1 of them needs attention");
  assert.equal(agentsWords([]), "no agents");
});

Deno.test("each state of a host has its own sign; addCommands() names the host", () => {
  const shapes = [
    hostShape(only(fleet(host())), 0),
    hostShape(only(fleet(host())), 1),
    hostShape(only(fleet(host({ is_online: false }))), 0),
    hostShape(only(fleet(host({ is_online: false, is_revoked: true }))), 0),
  ];
  assert.equal(new Set(shapes).size, shapes.length);
  assert.match(addCommands("atlas").there, /^fleetctl host set webview_gateway atlas$/m);
  assert.match(addCommands("").there, /GATEWAY/);
});
