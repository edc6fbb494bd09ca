/**
 * What goes wrong with activation on a real host: units that do not come up, files that somebody
 * edited, verbs that are killed and hosts that are rebooted in the middle. The next `apply` puts it
 * right and says what it cannot. 3 kills and 2 reboots; FLEETCTL_ROUNDS and FLEETCTL_REBOOTS say
 * otherwise.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type BootedHost, bootHost, poll } from "tests/support/booted_host.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import { installKeyed, proofOf } from "tests/support/keyed_mcp.ts";
import { buildPackage, copyInto, GATEWAY } from "tests/support/packaged_host.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "3");
/** Reboots; docs/benchmarks.md has the outcome of 20. */
const REBOOTS = Math.min(ROUNDS, Number(Deno.env.get("FLEETCTL_REBOOTS") ?? "2"));
const REPO = "/var/lib/fleetctl/repo";
const CLIENT = "/home/ada/.runtime-b/agent/mcp.json";
const DAEMON = "fleetctl-daemon.service";
const KEY = "a key";
const BROWSER = "name: browser\nsummary: Stands in\nsource: {builtin: agent-message}\n" +
  "auth: none\nscope: per_user\n";

async function setUp(host: BootedHost, out: string): Promise<void> {
  for (const entry of Deno.readDirSync(out)) {
    if (entry.name.endsWith(".deb")) await copyInto(host, `${out}/${entry.name}`, "/srv");
  }
  await host.must("sh", "-c", "dpkg -i /srv/fleetctl_*.deb");
  await host.must("fleetctl", "webview-gateway", "install");
  await Deno.mkdir(`${host.root}${REPO}/catalog/browser`, { recursive: true });
  await Deno.writeTextFile(`${host.root}${REPO}/catalog/browser/mcp.yaml`, BROWSER);
  await installKeyed(host.root, [
    { name: "keyed", key: "KEYED_TOKEN", scope: "per_user" },
    { name: "org", key: "ORG_TOKEN", scope: "shared" },
  ]);
  const owner = ["--user-email", "ada@example.org"];
  await host.must("fleetctl", "agents", "add", "ada", "--channel", "webview", ...owner);
  for (const words of [["KEYED_TOKEN", "--agent", "ada"], ["ORG_TOKEN"]]) {
    const set = ["fleetctl", "secret", "set", ...words, "--value", "-"];
    assert.equal((await host.exec(set, { input: KEY })).code, 0);
  }
  await host.must("fleetctl", "mcp", "add", "keyed", "ada");
  await host.must("fleetctl", "apply");
  await settled(host);
}

async function settled(host: BootedHost): Promise<void> {
  assert.match(await host.must("fleetctl", "apply"), /^unchanged/);
}

/** A drop-in is the host's own, which `apply` neither writes nor removes. */
async function override(
  host: BootedHost,
  unit: string,
  command: string,
  more = "",
): Promise<void> {
  const folder = `/etc/systemd/system/${unit}.d`;
  await host.must("mkdir", "-p", folder);
  await Deno.writeTextFile(
    `${host.root}${folder}/broken.conf`,
    `[Service]\nExecStart=\nExecStart=${command}\n${more}`,
  );
  await host.must("systemctl", "daemon-reload");
}

async function repair(host: BootedHost, unit: string): Promise<void> {
  await host.must("rm", "-r", `/etc/systemd/system/${unit}.d`);
  await host.must("systemctl", "daemon-reload");
}

/** A role that dies at once again and again; systemd itself counts it as started each time. */
async function checkDyingRole(host: BootedHost): Promise<void> {
  const words = '/bin/sh -c "echo no database today >&2; sleep 0.2; exit 1"';
  await override(host, GATEWAY, words);
  await host.must("systemctl", "stop", GATEWAY);
  const failed = await host.exec(["fleetctl", "apply"]);
  assert.equal(failed.code, 1, failed.out);
  assert.match(failed.err, /Cannot start fleetctl-gateway\.service: it ended before it was ready/);
  assert.match(failed.err, /no database today/);
  assert.match(failed.err, /^hint: journalctl -u fleetctl-gateway\.service -n 50$/m);
  await repair(host, GATEWAY);
  await host.must("systemctl", "restart", GATEWAY);
  await host.must("fleetctl", "apply");
  await settled(host);
}

/**
 * A role that runs and never serves: `apply` gives it as long as its unit says, tells the end of its
 * journal and what to run, does the rest, says so again each time, and converges once it is mended.
 */
async function checkHangingRole(host: BootedHost): Promise<void> {
  const words = [
    ["waiting for the disk", '/bin/sh -c "echo waiting for the disk; exec sleep infinity"'],
    ["Started fleetctl-gateway.service", "/bin/sleep infinity"],
  ] as const;
  for (const [last, command] of words) {
    await override(host, GATEWAY, command, "TimeoutStartSec=3\n");
    await host.must("systemctl", "stop", GATEWAY, "mcp-keyed-ada.socket");
    for (const time of ["the first time", "again"]) {
      const failed = await host.exec(["fleetctl", "apply"]);
      assert.equal(failed.code, 1, `${time}: ${failed.out}`);
      assert.match(
        failed.err,
        /Cannot start fleetctl-gateway\.service: it was not ready within 3 s/,
      );
      assert.ok(failed.err.includes(last), failed.err);
      assert.match(failed.err, /^hint: journalctl -u fleetctl-gateway\.service -n 50$/m);
      await host.must("systemctl", "is-active", "mcp-keyed-ada.socket");
    }
    await repair(host, GATEWAY);
    const mended = await host.must("fleetctl", "apply");
    assert.match(mended, /^restarted +fleetctl-gateway\.service$/m);
    await settled(host);
  }
}

/** A socket whose path is taken: the MCP is down, everything else goes on, and doctor names it. */
async function checkBrokenSocket(host: BootedHost): Promise<void> {
  await host.must("systemctl", "stop", "mcp-keyed-ada.socket");
  await host.must("mkdir", "-p", "/run/mcp/keyed-ada.sock/inside");
  const failed = await host.exec(["fleetctl", "apply"]);
  assert.equal(failed.code, 1, failed.out);
  assert.match(failed.err, /Cannot start mcp-keyed-ada\.socket/);
  assert.match(failed.err, /^hint: journalctl -u mcp-keyed-ada\.socket -n 50$/m);
  const doctor = await host.exec(["fleetctl", "mcp", "doctor", "keyed", "self"], { user: "ada" });
  assert.equal(doctor.code, 1);
  assert.match(doctor.out, /unit +failed/);
  await host.must("rm", "-r", "/run/mcp/keyed-ada.sock");
  await host.must("fleetctl", "apply");
  await checkCall(host);
}

async function checkCall(host: BootedHost): Promise<void> {
  const { code, out, err } = await host.exec(
    ["fleetctl", "mcp", "read", "keyed", "prove"],
    { user: "ada" },
  );
  assert.equal(code, 0, err);
  assert.ok(out.startsWith(await proofOf("KEYED_TOKEN", KEY)), out);
}

/** What is ours is put right, what is the owner's stays. */
async function checkHandEdits(host: BootedHost): Promise<void> {
  const config = JSON.parse(await host.read(CLIENT));
  config.mcpServers.own = { command: "/usr/bin/my-server" };
  config.mcpServers.keyed.command = "/usr/bin/evil";
  config.theirs = { kept: [1, 2.50] };
  await Deno.writeTextFile(`${host.root}${CLIENT}`, JSON.stringify(config));
  const edits: Readonly<Record<string, string>> = {
    "/etc/systemd/system/mcp-keyed-ada@.service": "[Service]\nExecStart=/bin/false\n",
    "/etc/fleetctl/env/agent-ada.env": "KEYED_TOKEN=stolen\n",
    "/etc/fleetctl/gate/keyed.json": "{}",
    "/usr/lib/fleetctl/permissions-ada.json": "{}",
  };
  for (const [path, text] of Object.entries(edits)) {
    await Deno.writeTextFile(`${host.root}${path}`, text);
  }
  await host.must("chmod", "0666", "/etc/fleetctl/env/agent-ada.env");
  const dry = await host.exec(["fleetctl", "apply", "--dry-run"]);
  for (const path of Object.keys(edits)) assert.ok(dry.out.includes(`updated    ${path}`), dry.out);
  assert.match(dry.out, /~KEYED_TOKEN/);
  assert.doesNotMatch(dry.out, /stolen|a key/);
  const applied = await host.exec(["fleetctl", "apply"]);
  // An entry of our name that is no longer our proxy is the owner's word against ours.
  const isForeign = /client-entry-foreign|has an entry of that name that is not ours/.test(
    applied.err,
  );
  assert.equal(applied.code, isForeign ? 1 : 0, applied.err);
  const after = JSON.parse(await host.read(CLIENT));
  assert.deepEqual(after.mcpServers.own, { command: "/usr/bin/my-server" });
  assert.deepEqual(after.theirs, { kept: [1, 2.5] });
  assert.equal(
    (await host.must("stat", "-c", "%a %U:%G", "/etc/fleetctl/env/agent-ada.env")).trim(),
    "640 root:ada",
  );
  await host.must("fleetctl", "apply");
  await settled(host);
  assert.match(JSON.parse(await host.read(CLIENT)).mcpServers.keyed.command, /fleetctl-mcp$/);
  await checkCall(host);
}

/** The host's own defaults, written by hand: good ones are followed, bad ones named and not guessed at. */
async function checkDefaults(host: BootedHost): Promise<void> {
  const file = `${host.root}/etc/fleetctl/defaults.yaml`;
  await Deno.writeTextFile(file, "# ours\ntools: [org] # for all\n");
  assert.match(await host.must("fleetctl", "apply"), /mcp-org\.socket/);
  await host.must("systemctl", "is-active", "mcp-org.socket");
  const before = await host.read(CLIENT);
  for (
    const [text, said] of [
      ["tools: [org, no-such]\n", /no-such/],
      ["tools: org\n", /defaults\.yaml:1.*tools/],
      ["colour: red\n", /defaults\.yaml:1.*colour/],
      ["tools: [\n", /defaults\.yaml/],
    ] as const
  ) {
    await Deno.writeTextFile(file, text);
    const applied = await host.exec(["fleetctl", "apply"]);
    assert.equal(applied.code, 1, text + applied.out);
    assert.match(applied.err, said);
    assert.equal(await host.read(CLIENT), before, `${text}: the client config stays`);
    await host.must("systemctl", "is-active", "mcp-org.socket");
  }
  await Deno.remove(file);
  await host.must("fleetctl", "apply");
  await settled(host);
  assert.notEqual((await host.exec(["systemctl", "is-active", "mcp-org.socket"])).code, 0);
}

/** Hundreds of connections at once are a burst and no reason to put a shared socket out of service. */
async function checkBurst(host: BootedHost): Promise<void> {
  await host.must("fleetctl", "mcp", "add", "org", "ada");
  const burst = `for i in $(seq 300); do
    socat -u OPEN:/dev/null UNIX-CONNECT:/run/mcp/org.sock 2>/dev/null & done; wait; true`;
  await host.exec(["bash", "-c", burst], { user: "ada" });
  await host.must("systemctl", "is-active", "mcp-org.socket");
  const words = ["fleetctl", "mcp", "read", "org", "prove"];
  for (let left = 20;; left--) {
    const ended = await host.exec(words, { user: "ada" });
    if (ended.code === 0) break;
    // The servers of the burst are still ending.
    assert.ok(left > 0, ended.err);
  }
  await host.must("fleetctl", "mcp", "remove", "org", "ada");
}

/** Kills whatever the daemon runs, the daemon included, while verbs change the host. */
const CHURN = `
( fleetctl mcp add org ada; fleetctl mcp remove keyed ada; fleetctl mcp add keyed ada; \\
  fleetctl mcp remove org ada ) >/dev/null 2>&1 &
sleep "$1"; systemctl kill -s KILL --kill-who=all ${DAEMON}; wait; true`;

/** The same verbs, each noted on disk once it has ended well; goes on while the host goes down. */
const LOGGED = `
: > /var/lib/churn; sync
note() { fleetctl mcp "$1" "$2" ada >/dev/null 2>&1 && { echo "$1 $2" >> /var/lib/churn; sync; }; }
( note add org; note remove keyed; note remove org; note add keyed ) &
sleep "$1"; true`;

async function checkKills(host: BootedHost): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    await host.exec(["bash", "-c", CHURN, "bash", String(0.3 + (round * 37 % 300) / 100)]);
    await host.must("fleetctl", "apply");
    await settled(host);
    await checkAgrees(host);
  }
}

/**
 * Boots again at a random moment of the same verbs; FLEETCTL_SEED repeats a sequence. What was
 * acknowledged before is there: the last verb that had ended, and everything that no verb touched.
 */
async function checkReboots(host: BootedHost): Promise<void> {
  let seed = Number(Deno.env.get("FLEETCTL_SEED") ?? "7");
  for (let round = 0; round < REBOOTS; round++) {
    seed = (seed * 48_271) % 2_147_483_647;
    await host.exec(["bash", "-c", LOGGED, "bash", String(0.2 + (seed % 2_600) / 1_000)]);
    const acknowledged = (await host.read("/var/lib/churn")).trim().split("\n").at(-1) ?? "";
    await host.reboot();
    const applied = await host.exec(["fleetctl", "apply"]);
    assert.equal(applied.code, 0, `seed ${seed}, after "${acknowledged}": ${applied.err}`);
    await settled(host);
    await checkAgrees(host);
    const [verb = "", mcp = ""] = acknowledged.split(" ");
    const shard = await host.read(`${REPO}/agents.d/ada.yaml`);
    const isThere = new RegExp(`^ +- ${mcp}$`, "m").test(shard);
    // The verb after it may have been recorded before the reboot, and is then of the other MCP.
    if (mcp !== "") {
      assert.equal(isThere, verb === "add", `seed ${seed}: ${acknowledged}\n${shard}`);
    }
    await host.exec(["fleetctl", "mcp", "add", "keyed", "ada"]);
    await checkCall(host);
    await host.exec(["fleetctl", "mcp", "remove", "org", "ada"]);
    assert.match(await host.must("fleetctl", "status"), /ada/);
  }
}

/** Ledger, client config, sockets and doctor say the same of both MCPs. */
async function checkAgrees(host: BootedHost): Promise<void> {
  const { mcpServers } = JSON.parse(await host.read(CLIENT));
  const shard = await host.read(`${REPO}/agents.d/ada.yaml`);
  for (
    const [mcp, unit] of [["keyed", "mcp-keyed-ada.socket"], ["org", "mcp-org.socket"]] as const
  ) {
    const isWired = new RegExp(`^ +- ${mcp}$`, "m").test(shard);
    assert.equal(mcp in mcpServers, isWired, `${mcp}: client config`);
    const { out } = await host.exec(["systemctl", "is-active", unit]);
    assert.equal(out.trim() === "active", isWired, `${mcp}: ${unit} is ${out}`);
  }
}

/**
 * An admin agent reads as a peer through the daemon: what the reviewed catalog calls read-only, as that
 * peer and with its key; nothing else, and `mcp call` not at all.
 */
async function checkRelayed(host: BootedHost): Promise<void> {
  const owner = ["--user-email", "chief@example.org"];
  await host.must("fleetctl", "agents", "add", "chief", "--channel", "webview", ...owner);
  const shard = `${host.root}${REPO}/agents.d/chief.yaml`;
  await Deno.writeTextFile(shard, `${await Deno.readTextFile(shard)}admin: true\n`);
  await host.must("fleetctl", "mcp", "add", "keyed", "ada");
  await host.must("fleetctl", "apply");
  const asChief = (verb: string) =>
    host.exec(["fleetctl", "mcp", verb, "keyed", "prove", "ada"], { user: "chief" });
  const refused = await asChief("read");
  assert.equal(refused.code, 4, refused.out);
  assert.match(refused.err, /the reviewed catalog does not declare it read-only/);
  const call = await asChief("call");
  assert.equal(call.code, 4);
  assert.match(call.err, /only root may call across agents/);
  const manifest = `${host.root}${REPO}/catalog/keyed/mcp.yaml`;
  const text = await Deno.readTextFile(manifest);
  await Deno.writeTextFile(manifest, `${text}tools: { prove: { read_only: true } }\n`);
  await host.must("fleetctl", "apply");
  const read = await asChief("read");
  assert.equal(read.code, 0, read.err);
  assert.ok(read.out.startsWith(await proofOf("KEYED_TOKEN", KEY)), read.out);
  const uid = (await host.must("id", "-u", "ada")).trim();
  assert.match(read.out, new RegExp(`uid ${uid}$`, "m"), "it ran as ada");
  const rows = await host.must("fleetctl", "audit", "list", "--caller", "chief");
  assert.match(rows, /mcp read/);
}

/** Servers and proxies of MCPs that run at the moment, by unit and by program. */
async function runningMcps(host: BootedHost): Promise<string> {
  const units = "systemctl list-units --plain --no-legend --state=running,start 'mcp-*.service'";
  const { out } = await host.exec(["sh", "-c", `${units}; pgrep -af '[f]leetctl-mcp' || true`]);
  return out.trim();
}

/** 22 sockets that listen, and nothing behind them until somebody calls. */
async function checkIdle(host: BootedHost): Promise<void> {
  const names = Array.from({ length: 20 }, (_, at) => `spare-${at}`);
  for (const name of names) {
    const folder = `${host.root}${REPO}/catalog/${name}`;
    await Deno.mkdir(folder, { recursive: true });
    const manifest = BROWSER.replace("name: browser", `name: ${name}`);
    await Deno.writeTextFile(`${folder}/mcp.yaml`, manifest);
  }
  await Deno.writeTextFile(`${host.root}/etc/fleetctl/defaults.yaml`, `tools: [${names}]\n`);
  await host.must("fleetctl", "mcp", "add", "keyed", "ada");
  await host.must("fleetctl", "apply");
  await host.must("fleetctl", "agents", "restart", "ada");
  const { mcpServers } = JSON.parse(await host.read(CLIENT));
  assert.ok(Object.keys(mcpServers).length >= 22, Object.keys(mcpServers).join());
  for (const name of [...names, "keyed"]) {
    const { out } = await host.exec(["systemctl", "is-active", `mcp-${name}-ada.socket`]);
    assert.equal(out.trim(), "active", name);
  }
  assert.equal(await runningMcps(host), "");
  await checkCall(host);
  // What is looked for is there while somebody is connected.
  const socket = "UNIX-CONNECT:/run/mcp/keyed-ada.sock";
  const holding = host.exec(["sh", "-c", `sleep 600 | socat - ${socket}`], { user: "ada" });
  await poll(
    "a server for a connection",
    async () => (await runningMcps(host)).includes("mcp-keyed-ada") ? true : undefined,
  );
  await host.exec(["pkill", "-u", "ada", "-x", "socat|sleep"]);
  await holding;
  await poll(
    "the server of a call to end with it",
    async () => await runningMcps(host) === "" ? true : undefined,
  );
}

Deno.test("activation comes through broken units, edited files, kills and reboots", async (t) => {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target", name: "helios" });
  const step = hostSteps(t, [host]);
  try {
    await step("a host with a gateway, an agent and an MCP of its own", () => setUp(host, out));
    await step(
      "a role that dies again and again is reported, not counted as started",
      () => checkDyingRole(host),
    );
    await step(
      "a role that never becomes ready is told each time, and mended",
      () => checkHangingRole(host),
    );
    await step(
      "a socket that cannot be made takes down its MCP alone",
      () => checkBrokenSocket(host),
    );
    await step("edited files are put right, what is the owner's stays", () => checkHandEdits(host));
    await step(
      "defaults written by hand are followed, faulty ones named",
      () => checkDefaults(host),
    );
    await step("a burst of connections leaves a shared socket in service", () => checkBurst(host));
    await step("verbs killed in the middle", () => checkKills(host));
    await step("reboots in the middle of verbs", () => checkReboots(host));
    await step(
      "an admin reads as a peer what is read-only, and no more",
      () => checkRelayed(host),
    );
    await step("an idle agent with 22 MCPs has no server process", () => checkIdle(host));
  } finally {
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
});
