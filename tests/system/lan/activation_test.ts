/**
 * Activation on two real hosts: the gateway on one, agents on the other. An agent's user activates
 * an MCP with its own key and calls it through the cockpit of the other host. An MCP with the
 * organisation's key is refused until an operator seeds that key. A shared socket survives the
 * first `remove`, and reboots of both hosts restore everything.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import type { BootedHost, Ended } from "tests/support/booted_host.ts";
import { type Lan, withHosts } from "tests/support/host_lan.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import { installKeyed, proofOf } from "tests/support/keyed_mcp.ts";
import { buildPackage } from "tests/support/built_package.ts";
import { GATEWAY, installPackage, PackagedHost } from "tests/support/packaged_host.ts";

type Pair = Lan<"atlas" | "boreas">;
type Hosts = Pair["hosts"];

const OWN_KEY = "ada's own key";
const ORG_KEY = "everybody's key";
const REPO = "/var/lib/fleetctl/repo";
/** Replaces Chromium, so that the default set is cheap here. */
const BROWSER = `name: browser
summary: Stands in for the browser
source: {builtin: agent-message}
auth: none
scope: per_user
`;

/** Returns a function that runs a line of `fleetctl` as a user of the host. */
function as(host: BootedHost, user: string) {
  return (line: string, input?: string): Promise<Ended> =>
    host.exec(["fleetctl", ...line.split(" ")], {
      user,
      ...defined({ input }),
    });
}

function accepted(ended: Ended, line: string): string {
  assert.equal(ended.code, 0, `${line}\n${ended.out}${ended.err}`);
  return ended.out;
}

async function wiringOf(host: BootedHost, user: string, mcp: string): Promise<string> {
  const out = accepted(await as(host, user)("mcp wired self --json"), "mcp wired");
  const { mcps } = JSON.parse(out) as { mcps: { name: string; state: string; fault: unknown }[] };
  const found = mcps.find(({ name }) => name === mcp);
  return found === undefined ? "absent" : `${found.state}, ${found.fault ?? "sound"}`;
}

async function install(host: BootedHost, out: string): Promise<void> {
  await installPackage(host, out);
  await Deno.writeTextFile(`${host.root}/etc/fleetctl/host.yaml`, "webview_gateway: atlas\n");
  await host.must("fleetctl", "apply");
  await Deno.mkdir(`${host.root}${REPO}/catalog/browser`, { recursive: true });
  await Deno.writeTextFile(`${host.root}${REPO}/catalog/browser/mcp.yaml`, BROWSER);
}

async function setUp({ hosts: { atlas, boreas } }: Pair): Promise<void> {
  await atlas.must("fleetctl", "webview-gateway", "install");
  await installKeyed(boreas.root, [
    { name: "keyed", key: "KEYED_TOKEN", scope: "per_user" },
    { name: "org", key: "ORG_TOKEN", scope: "shared" },
  ]);
  for (const name of ["ada", "bea"]) {
    await boreas.must(
      "fleetctl",
      "agents",
      "add",
      name,
      "--channel",
      "webview",
      "--user-email",
      `${name}@example.org`,
    );
    await share({ from: boreas, to: atlas }, `agents.d/${name}.yaml`);
  }
  await atlas.must(
    "fleetctl",
    "agents",
    "add",
    "zoe",
    "--channel",
    "webview",
    "--user-email",
    "zoe@example.org",
  );
  await atlas.must("sh", "-c", `echo 'admin: true' >> ${REPO}/agents.d/zoe.yaml`);
  await atlas.must("fleetctl", "apply");
  const status = await atlas.must("fleetctl", "webview-gateway", "status");
  assert.match(status, /unit +fleetctl-gateway\.service active/);
  assert.match(status, /ada@example\.org +ada/);
  const wrong = await boreas.exec(["fleetctl", "webview-gateway", "install"]);
  assert.match(wrong.err, /the marker webview_gateway names "atlas", must name this host/);
  assert.equal(wrong.code, 1);
}

/** Copies a file of the ledger to the other host, as a shared repository would. */
async function share(
  way: { readonly from: BootedHost; readonly to: BootedHost },
  path: string,
): Promise<void> {
  const text = await way.from.read(`${REPO}/${path}`);
  await Deno.writeTextFile(`${way.to.root}${REPO}/${path}`, text, { mode: 0o600 });
  const git = ["git", "-C", REPO, "-c", "user.name=A", "-c", "user.email=a@example.org"];
  await way.to.must(...git, "add", path);
  await way.to.must(...git, "commit", "-q", "-m", `share ${path}`);
}

async function checkSelfServe(boreas: BootedHost): Promise<void> {
  const ada = as(boreas, "ada");
  const refused = await ada("mcp add keyed self");
  assert.equal(refused.code, 1);
  assert.match(refused.err, /1 required key is not set/);
  assert.match(
    refused.err,
    /^hint: fleetctl secret set KEYED_TOKEN --agent ada$/m,
  );
  assert.equal(await wiringOf(boreas, "ada", "keyed"), "absent");
  accepted(await ada("secret set KEYED_TOKEN --value - --agent self", OWN_KEY), "secret set");
  const added = accepted(await ada("mcp add keyed self"), "mcp add");
  assert.match(added, /it takes effect only after the agent restarts: \S+ agents restart ada\n$/);
  assert.equal(await wiringOf(boreas, "ada", "keyed"), "wired, sound");
  accepted(await ada("agents restart self"), "restart");
  assert.equal(await wiringOf(boreas, "ada", "keyed"), "live, sound");
  await checkCall(boreas, "ada", { mcp: "keyed", proof: await proofOf("KEYED_TOKEN", OWN_KEY) });
  const doctor = await ada("mcp doctor keyed self");
  assert.equal(doctor.code, 0, doctor.out + doctor.err);
  assert.match(doctor.out, /handshake +ok +started and answered/);
  assert.match(doctor.out, /tools +ok +1 \(prove\)/);
  assert.match(accepted(await ada("logs self"), "logs"), /"event":"ready"/);
  const foreign = await as(boreas, "bea")("logs ada");
  assert.equal(foreign.code, 4, foreign.out);
}

/** Checks that the server runs as the agent, or as a user that exists only for it. */
async function checkCall(
  host: BootedHost,
  user: string,
  of: { readonly mcp: string; readonly proof: string; readonly isShared?: boolean },
): Promise<void> {
  const output = accepted(await as(host, user)(`mcp read ${of.mcp} prove`), "mcp read");
  const [, proof, uid] = /^(.*) uid (\d+)$/m.exec(output) ?? [];
  assert.equal(proof, of.proof, output);
  const own = (await host.must("id", "-u", user)).trim();
  if (of.isShared === true) assert.ok(Number(uid) >= 61_184 && Number(uid) <= 65_519, output);
  else assert.equal(uid, own);
}

async function checkOrganisation(boreas: BootedHost): Promise<void> {
  const ada = as(boreas, "ada");
  const refused = await ada("mcp add org self");
  assert.equal(refused.code, 1);
  assert.match(refused.err, /an operator sets its keys once/);
  assert.match(refused.err, /^hint: fleetctl secret set ORG_TOKEN$/m);
  const seeding = await ada("secret set ORG_TOKEN --value -", "mine");
  assert.equal(seeding.code, 4);
  assert.match(seeding.err, /--agent self.*operator-only|operator-only/);
  accepted(await ada("secret set ORG_TOKEN --value - --agent self", "mine"), "own shard");
  assert.equal((await ada("mcp add org self")).code, 1, "a key of one's own is not the server's");
  await boreas.exec(["fleetctl", "secret", "set", "ORG_TOKEN", "--value", "-"], { input: ORG_KEY });
  const proof = await proofOf("ORG_TOKEN", ORG_KEY);
  for (const user of ["ada", "bea"]) {
    accepted(await as(boreas, user)("mcp add org self"), `mcp add org as ${user}`);
    await checkCall(boreas, user, { mcp: "org", proof, isShared: true });
  }
  assert.equal(
    (await boreas.must("stat", "-c", "%a %U:%G", "/run/mcp/org.sock")).trim(),
    "660 root:agents",
  );
  const removed = accepted(await ada("mcp remove org self"), "mcp remove");
  assert.match(removed, /the shared socket of "org" stays, because it is wired to: "bea"/);
  assert.equal(await wiringOf(boreas, "ada", "org"), "absent");
  await checkCall(boreas, "bea", { mcp: "org", proof, isShared: true });
}

async function checkTurn(atlas: BootedHost): Promise<void> {
  const { answer, tools } = await new PackagedHost(atlas).turn("call prove {}");
  assert.deepEqual(tools, ["prove"]);
  assert.ok(answer.includes(await proofOf("KEYED_TOKEN", OWN_KEY)), answer);
}

/** Sends a request about hosts to the gateway's page, as its admin. */
async function cockpit(
  atlas: BootedHost,
  way: { readonly method: "GET" | "POST"; readonly path: string; readonly body?: unknown },
): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
  return await new PackagedHost(atlas).askCockpit("zoe@example.org", way);
}

/** Returns what an operator of a host sees. */
async function statusOf(host: BootedHost) {
  const { out } = await host.exec(["fleetctl", "status", "--json"]);
  return JSON.parse(out) as {
    readonly agents: readonly { readonly name: string; readonly gateway: string }[];
    readonly problems: readonly { readonly code: string; readonly hints: readonly string[] }[];
  };
}

/** A host without an agent at the gateway has its own unit there, once an operator enrolled it. */
async function checkHostUnit({ hosts }: Pair): Promise<void> {
  const { atlas, boreas } = hosts;
  for (const host of [atlas, boreas]) await checkUnitOf(host);
  const key = await checkEnrolment(hosts);
  await checkHostRequests(hosts);
  await atlas.must("fleetctl", "host", "key", "revoke", "boreas");
  await new PackagedHost(atlas).untilLogged(GATEWAY, "dial key revoked.*host:boreas");
  const denied = await cockpit(atlas, { method: "GET", path: "/api/host/status?host=boreas" });
  assert.equal(denied.status, 503, JSON.stringify(denied.body));
  assert.match(await boreas.must("fleetctl", "apply"), /^unchanged/);
  await atlas.must("fleetctl", "host", "key", "enroll", "boreas", key);
}

/** Checks the host's own unit: its user, its state and its hardening. */
async function checkUnitOf(host: BootedHost): Promise<void> {
  const unit = "fleetctl-host.service";
  const user = await new PackagedHost(host).property(unit, "User");
  assert.equal(user, "fleetctl-host");
  assert.match((await host.exec(["fleetctl", "status"])).out, /^host +active/m);
  const { code, out } = await host.exec(["systemd-analyze", "security", "--no-pager", unit]);
  assert.equal(code, 0);
  assert.ok(
    Number(/Overall exposure level for .*: ([\d.]+)/.exec(out)?.[1]) <= 4,
    out.slice(-200),
  );
}

/** Checks that the gateway admits a host only when it is enrolled; returns the host's key. */
async function checkEnrolment({ atlas, boreas }: Hosts): Promise<string> {
  const hosts = async () => {
    const { body } = await cockpit(atlas, { method: "GET", path: "/api/hosts" });
    return JSON.stringify(body.hosts).replace(/"since":\d+/g, '"since":1');
  };
  const key = "/etc/fleetctl/host-dial.key";
  assert.equal(await new PackagedHost(boreas).modeOf(key), "600 root:root");
  await new PackagedHost(atlas).untilLogged(GATEWAY, "register accepted.*host:atlas");
  assert.match(await hosts(), /"atlas","is_online":true/);
  // The gateway's ledger does not contain this host yet: a proof alone does not admit it.
  await new PackagedHost(atlas).untilLogged(GATEWAY, "host:boreas.*key-not-enrolled");
  const listed = JSON.parse(await boreas.must("fleetctl", "host", "key", "list", "--json"));
  assert.deepEqual(listed.hosts, [{ host: "boreas", keys: [listed.own_key] }]);
  const enroll = `fleetctl host key enroll boreas ${listed.own_key}`;
  const refused = await statusOf(boreas);
  // The shared MCP of the previous step still needs a restart of its agent.
  const problems = refused.problems.filter(({ code }) => code !== "restart-pending");
  assert.deepEqual(problems.map(({ code, hints }) => [code, ...hints]), [
    ["gateway-not-asked", enroll],
  ]);
  await atlas.must(...enroll.split(" "));
  await new PackagedHost(atlas).untilLogged(GATEWAY, "register accepted.*host:boreas");
  const told = await statusOf(boreas);
  assert.deepEqual(
    told.agents.map(({ name, gateway }) => `${name} ${gateway}`),
    ["ada connected", "bea connected"],
  );
  assert.match(await hosts(), /"boreas","is_online":true/);
  return listed.own_key;
}

/** Checks what an admin reads and changes on the other host through the page. */
async function checkHostRequests({ atlas, boreas }: Hosts): Promise<void> {
  const status = await cockpit(atlas, { method: "GET", path: "/api/host/status?host=boreas" });
  assert.equal(status.status, 200, JSON.stringify(status.body));
  assert.match(JSON.stringify(status.body), /"ada"/);
  const before = await boreas.must("systemctl", "show", "-p", "MainPID", "fleetctl-dial-bea");
  const restart = { method: "POST", path: "/api/agents/restart", body: { agent: "bea" } } as const;
  const restarted = await cockpit(atlas, restart);
  assert.equal(restarted.status, 200, JSON.stringify(restarted.body));
  const after = await boreas.must("systemctl", "show", "-p", "MainPID", "fleetctl-dial-bea");
  assert.notEqual(after, before);
  await boreas.must("rm", "/etc/fleetctl/env/agent-bea.env");
  const applied = await cockpit(atlas, { method: "POST", path: "/api/apply-all", body: {} });
  assert.deepEqual(
    (applied.body.hosts as readonly { host: string; ok: boolean }[]).map((
      { host, ok },
    ) => [host, ok]),
    [["atlas", true], ["boreas", true]],
    JSON.stringify(applied.body).slice(0, 2_000),
  );
  await boreas.must("test", "-s", "/etc/fleetctl/env/agent-bea.env");
  await checkHostJob({ atlas, boreas });
  const audit = await boreas.must("fleetctl", "audit", "list", "--caller", "host");
  for (const verb of ["status", "agents restart", "apply"]) assert.match(audit, new RegExp(verb));
  const own = await boreas.exec(["fleetctl", "secret", "list"], { user: "fleetctl-host" });
  assert.equal(own.code, 4, "its user may run the jobs' verbs and no others");
}

/** A job from the page: one request starts it, and later requests return its outcome. */
async function checkHostJob({ atlas, boreas }: Hosts): Promise<void> {
  const down = ["systemctl", "stop", "fleetctl-dial-bea"];
  await boreas.must(...down);
  const steps = await boreas.exec(["fleetctl", "apply", "--json", "--steps"]);
  assert.match(steps.err, /^\[\d+\/\d+\] start fleetctl-dial-bea\.service$/m, steps.err);
  assert.equal(JSON.parse(steps.out).faults.length, 0, steps.out);
  await boreas.must(...down);
  const body = { host: "boreas", job: "apply" };
  const path = "/api/host/jobs";
  const begun = await cockpit(atlas, { method: "POST", path, body });
  assert.equal(begun.status, 202, JSON.stringify(begun.body));
  for (;;) {
    const { body: known } = await cockpit(atlas, { method: "GET", path: `${path}?host=boreas` });
    const [job] = known.jobs as readonly Readonly<Record<string, unknown>>[];
    assert.equal(job?.id, begun.body.id);
    if (job?.ended === null) continue;
    assert.equal(job?.exit, 0, JSON.stringify(job));
    assert.match(JSON.stringify(job?.report), /"unit":"fleetctl-dial-bea\.service"/);
    break;
  }
  await boreas.must("systemctl", "is-active", "fleetctl-dial-bea");
}

/** `host: false` removes the unit, and a host without a gateway has none. */
async function checkHostUnitGone({ hosts: { boreas } }: Pair): Promise<void> {
  const roles = `${boreas.root}/etc/fleetctl/roles.yaml`;
  const text = await Deno.readTextFile(roles).catch(() => "");
  await Deno.writeTextFile(roles, `${text}host: false\n`);
  assert.match(await boreas.must("fleetctl", "apply"), /removed.*fleetctl-host\.service/);
  assert.notEqual((await boreas.exec(["systemctl", "cat", "fleetctl-host.service"])).code, 0);
  await Deno.writeTextFile(roles, text);
  await boreas.must("fleetctl", "apply");
  await boreas.must("systemctl", "is-active", "fleetctl-host.service");
}

/** Waits until the gateway has admitted an agent since its start. */
async function registered(atlas: BootedHost, agent: string): Promise<void> {
  await new PackagedHost(atlas).untilLogged(GATEWAY, `register accepted.*${agent}`);
}

async function checkBack({ hosts: { atlas, boreas } }: Pair): Promise<void> {
  const settled = ["systemctl", "is-system-running", "--wait"];
  await boreas.exec(settled);
  for (const unit of ["mcp-keyed-ada.socket", "mcp-org.socket", "fleetctl-dial-ada.service"]) {
    await boreas.must("systemctl", "is-active", unit);
  }
  await checkCall(boreas, "bea", {
    mcp: "org",
    proof: await proofOf("ORG_TOKEN", ORG_KEY),
    isShared: true,
  });
  assert.equal(await wiringOf(boreas, "ada", "keyed"), "live, sound");
  assert.match(await boreas.must("fleetctl", "apply"), /^unchanged/);
  await registered(atlas, "ada");
  await new PackagedHost(atlas).untilLogged(GATEWAY, "register accepted.*host:boreas");
  await checkTurn(atlas);
}

Deno.test("an agent's user activates MCPs on two hosts, and reboots bring them back", async (t) => {
  const out = await buildPackage();
  try {
    await withHosts(["atlas", "boreas"], async (lan: Pair) => {
      const { atlas, boreas } = lan.hosts;
      const step = hostSteps(t, [atlas, boreas]);
      await step("both hosts are installed", async () => {
        await Promise.all([install(atlas, out), install(boreas, out)]);
      });
      await step("agents of one host dial the gateway of the other", async () => {
        await setUp(lan);
        await registered(atlas, "ada");
      });
      await step("a self-serve MCP: own key, wired, live, called", () => checkSelfServe(boreas));
      await step("the cockpit of the other host calls it in a turn", async () => {
        await registered(atlas, "ada");
        await checkTurn(atlas);
      });
      await step(
        "a shared MCP needs the operator's key, and its socket stays until its last agent",
        () => checkOrganisation(boreas),
      );
      await step(
        "each host has its own unit for jobs across hosts",
        () => checkHostUnit(lan),
      );
      await step("a reboot of the agents' host brings all back", async () => {
        await boreas.reboot();
        await checkBack(lan);
      });
      await step("a reboot of the gateway's host brings all back", async () => {
        await atlas.reboot();
        await checkBack(lan);
      });
      await step(
        "a host's own unit is removed when it is not wanted",
        () => checkHostUnitGone(lan),
      );
      await step("removing the last agent removes the shared socket", async () => {
        accepted(await as(boreas, "bea")("mcp remove org self"), "mcp remove");
        assert.notEqual((await boreas.exec(["test", "-e", "/run/mcp/org.sock"])).code, 0);
        accepted(await as(boreas, "ada")("mcp remove keyed self"), "mcp remove");
        assert.notEqual((await boreas.exec(["test", "-e", "/run/mcp/keyed-ada.sock"])).code, 0);
      });
    }, { target: "multi-user.target" });
  } finally {
    await Deno.remove(out, { recursive: true });
  }
});
