/**
 * The Debian package on a real host: installed, set up by an operator, used by an agent, restarted,
 * rebooted, removed and purged. What no other test can see: that the rendered units run under real
 * systemd with their hardening, as the users they name, and that the kernel refuses everybody else.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { SHIPPED_ENTRIES } from "core/catalog/shipped.ts";
import { bootHost } from "tests/support/booted_host.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import {
  buildPackage,
  copyInto,
  GATEWAY,
  makeRepository,
  PackagedHost,
} from "tests/support/packaged_host.ts";
import { checkTeamchatHalves } from "tests/system/teamchat_steps.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";
import { ENTRIES_OF_UP } from "tests/support/up_process.ts";

const ROLES = `gateway:
  cockpit_listen: 127.0.0.1:8731
  dial_listen: 127.0.0.1:8735
  trust: assertion
daemon: true
dial: true
`;
const DIAL = "fleetctl-dial-ada.service";
const DAEMON = "fleetctl-daemon.service";
/** Tells apart what the kernel refused from every other failure. */
const CONNECT = `
  try { (await Deno.connect({ transport: "unix", path: Deno.args[0] })).close(); }
  catch (thrown) { console.log(thrown.name); Deno.exit(1); }
`;

const REPOSITORY = "/srv/repository";
const LOG_ARGS = JSON.stringify({ path: REPOSITORY, maxCount: 1 });

async function installPackage(scene: PackagedHost): Promise<void> {
  const installed = await scene.run(["sh", "-c", "dpkg -i /srv/fleetctl_*.deb"]);
  assert.equal(installed.code, 0, installed.out + installed.err);
  assert.doesNotMatch(installed.out + installed.err, /Cannot|not as it should be/);
}

async function installAndSetUp(scene: PackagedHost): Promise<void> {
  await installPackage(scene);
  assert.match(await scene.must("fleetctl", "--version"), /^fleetctl \d+\.\d+\.\d+\n$/);
  await Deno.writeTextFile(`${scene.host.root}/etc/fleetctl/roles.yaml`, ROLES);
  for (const name of ["ada", "bob"]) {
    await scene.must(
      ...["fleetctl", "agents", "add", name, "--channel", "webview"],
      ...["--user-email", `${name}@example.org`],
    );
  }
  await scene.must("fleetctl", "mcp", "add", "git", "ada");
  await scene.must("fleetctl", "apply");
  assert.match(await scene.must("fleetctl", "apply"), /^unchanged +\d+ files\n/);
  assert.match(await scene.must("fleetctl", "status"), /nothing is wrong/);
  const failed = await scene.must(
    ...["systemctl", "list-units", "--failed", "--plain", "--no-legend", "fleetctl-*", "mcp-*"],
  );
  assert.equal(failed, "");
}

async function checkOwners(scene: PackagedHost): Promise<void> {
  const wanted: Readonly<Record<string, string>> = {
    "/home/ada": "700 ada:ada",
    "/home/ada/.runtime-b/agent/mcp.json": "600 ada:ada",
    "/etc/fleetctl/env/agent-ada.env": "640 root:ada",
    "/etc/fleetctl/env/agent-bob.env": "640 root:bob",
    "/etc/fleetctl/env/mcp-shared.env": "640 root:agents",
    "/etc/fleetctl/env/webview-gateway.env": "640 root:fleetctl-gateway",
    "/etc/fleetctl/host.key": "600 root:root",
    "/etc/fleetctl/host-op.env": "600 root:root",
    "/var/lib/fleetctl/repo/secrets.age": "600 root:root",
    "/var/lib/fleetctl/gateway": "700 fleetctl-gateway:fleetctl-gateway",
    "/run/mcp/git-ada.sock": "600 ada:ada",
    "/run/fleetctl/fleetctl.sock": "666 root:root",
  };
  const found: Record<string, string> = {};
  for (const path of Object.keys(wanted)) found[path] = await scene.modeOf(path);
  assert.deepEqual(found, wanted);
  assert.ok(Number(await scene.must("id", "-u", "ada")) >= 1000);
  assert.match(await scene.must("id", "-nG", "ada"), /^ada agents$/m);
  for (
    const [unit, user] of [[DAEMON, "root"], [GATEWAY, "fleetctl-gateway"], [DIAL, "ada"]] as const
  ) {
    const pid = await scene.property(unit, "MainPID");
    assert.equal(await scene.ownerOfProcess(pid), user, unit);
  }
}

async function checkServer(scene: PackagedHost): Promise<void> {
  const unit = await scene.serverUnit("mcp-git-ada@*.service");
  const pid = await scene.property(unit, "MainPID");
  assert.equal(await scene.ownerOfProcess(pid), "ada", unit);
  // Its own home is read-only to it, so it cannot change what the agent starts next.
  const inside = ["nsenter", "-t", pid, "-m", "--", "setpriv", "--reuid=ada", "--regid=ada"]
    .concat(["--clear-groups", "--", "touch"]);
  const outside = await scene.run([...inside, "/home/ada/.runtime-b/agent/mcp.json"]);
  assert.match(outside.err, /Read-only file system/);
  const journal = await scene.must("journalctl", "--no-pager", "-o", "cat", "-u", unit);
  assert.ok(!journal.includes(REPOSITORY), "arguments of tools are nobody else's");
  const cache = await scene.run([...inside, "/home/ada/.cache/fleetctl/mcp-git/x"]);
  assert.equal(cache.code, 0, cache.err);
}

async function checkScratch(scene: PackagedHost): Promise<void> {
  const command = "git init -q /tmp/scratch && cd /tmp/scratch && git -c user.name=A " +
    "-c user.email=a@example.org commit -q --allow-empty -m 'in scratch'";
  await scene.turn(`call bash ${JSON.stringify({ command })}`);
  const { answer } = await scene.turn("last commit of /tmp/scratch");
  assert.match(answer, /in scratch/);
  assert.equal((await scene.run(["test", "-e", "/tmp/scratch"])).code, 1, "others have their own");
}

/** Chromium builds its own sandbox out of namespaces, inside that of the unit. */
async function checkBrowser(scene: PackagedHost): Promise<void> {
  const page = { url: "data:text/html,<title>seen by Chromium</title>" };
  const { answer } = await scene.turn(`call browser_navigate ${JSON.stringify(page)}`);
  assert.match(answer, /Page Title: seen by Chromium/);
  const { out } = await scene.run(["pgrep", "-u", "ada", "-a", "chrom"]);
  assert.match(out, /--type=renderer/);
  assert.doesNotMatch(out, /--no-sandbox/);
}

/** No shipped server is shared, so this one is the overlay's: the git server under another name. */
async function checkSharedServer(scene: PackagedHost, hash: string): Promise<void> {
  const shipped = SHIPPED_ENTRIES.find(({ name }) => name === "git");
  const entry = `${scene.host.root}/var/lib/fleetctl/repo/catalog/notes`;
  await Deno.mkdir(entry);
  await Deno.writeTextFile(`${entry}/deno.lock`, shipped?.lock ?? "");
  const manifest = (shipped?.manifest ?? "").replace(/^name: git$/m, "name: notes")
    .replace(/^scope: per_user$/m, "scope: shared");
  await Deno.writeTextFile(`${entry}/mcp.yaml`, manifest);
  await copyInto(scene.host, `${VENDOR_CACHE}/git/.`, "/var/lib/fleetctl/vendor-cache/notes");
  await scene.must("git", "config", "--system", "--add", "safe.directory", "*");
  await scene.must("fleetctl", "mcp", "add", "notes", "ada");
  assert.equal(await scene.modeOf("/run/mcp/notes.sock"), "660 root:agents");
  const words = ["fleetctl", "mcp", "read", "notes", "git_log", "--args", LOG_ARGS];
  const read = await scene.run(words, { user: "ada" });
  assert.equal(read.code, 0, read.out + read.err);
  assert.ok(read.out.includes(hash), read.out);
  await scene.must("fleetctl", "apply");
  await scene.turn("what can you do");
  const pid = await scene.property(await scene.serverUnit("mcp-notes@*.service"), "MainPID");
  const uid = Number(await scene.must("stat", "-c", "%u", `/proc/${pid}`));
  // The range of users that exist while their service runs.
  assert.ok(uid >= 61_184 && uid <= 65_519, `uid ${uid}`);
}

async function checkSocket(scene: PackagedHost): Promise<void> {
  const connect = (user: string) =>
    scene.run([
      ...["/usr/lib/fleetctl/deno", "eval", "--no-config", CONNECT, "/run/mcp/git-ada.sock"],
    ], { user });
  for (const user of ["bob", "fleetctl-gateway"]) {
    const ended = await connect(user);
    assert.deepEqual([ended.code, ended.out.trim()], [1, "PermissionDenied"], user + ended.err);
  }
  const own = await connect("ada");
  assert.equal(own.code, 0, own.out + own.err);
}

const PRIVATE = [
  "/etc/fleetctl/host.key",
  "/etc/fleetctl/host-op.env",
  "/etc/fleetctl/env/agent-bob.env",
  "/etc/fleetctl/env/webview-gateway.env",
  "/var/lib/fleetctl/repo/secrets.age",
  "/var/lib/fleetctl/repo/agents.d",
  "/var/lib/fleetctl/repo/.git/HEAD",
  "/var/lib/fleetctl/daemon",
  "/var/lib/fleetctl/gateway",
  "/var/lib/fleetctl/rendered.json",
  "/var/log/fleetctl",
  "/home/bob",
];

async function checkUnreadable(scene: PackagedHost): Promise<void> {
  const script =
    'for p; do if [ -d "$p" ]; then ls "$p"; else cat "$p"; fi && echo "open: $p"; done';
  const ended = await scene.run(["sh", "-c", script, "sh", ...PRIVATE], { user: "ada" });
  assert.doesNotMatch(ended.out, /^open: /m);
  assert.equal(ended.err.match(/Permission denied/g)?.length, PRIVATE.length, ended.err);
}

/** What ada may not do, with the words of the refusal. */
const DENIED: readonly (readonly [line: string, says: RegExp])[] = [
  ["secret set K --value x", /shared and host secrets are operator-only/],
  ["secret get K --agent bob", /for agent "bob" as agent "ada"/],
  ["agents add eve --channel webview --user-email eve@example.org", /it is operator-only/],
  ["mcp add git bob", /for agent "bob" as agent "ada"/],
  ["mcp wired bob", /for agent "bob" as agent "ada"/],
  ["apply", /it is operator-only/],
  ["--as bob mcp wired bob", /must have more rights than that agent/],
];

async function checkVerbsOfAda(scene: PackagedHost): Promise<void> {
  const wired = await scene.ada("mcp wired ada");
  assert.equal(wired.code, 0, wired.err);
  assert.match(wired.out, /^git +\S+ +per_user +added +live$/m);
  const set = await scene.ada("secret set K --value - --agent self", "v 1\n");
  assert.equal(set.code, 0, set.err);
  assert.equal((await scene.ada("secret get K --agent self")).out, "v 1\n");
  assert.match(await scene.host.read("/etc/fleetctl/env/agent-ada.env"), /^K="?v 1"?$/m);
  assert.equal(await scene.modeOf("/etc/fleetctl/env/agent-ada.env"), "640 root:ada");
  for (const [line, says] of DENIED) {
    const ended = await scene.ada(line);
    assert.match(ended.err, says, `${line}\n${ended.err}`);
    assert.equal(ended.code, 4, `${line}\n${ended.err}`);
  }
  assert.equal((await scene.run(["getent", "passwd", "eve"])).code, 2);
  const path = `${scene.host.root}/var/lib/fleetctl/daemon/audit.sqlite`;
  using database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare(
    "SELECT verb, code FROM audit WHERE uid = ? AND allowed = 0 ORDER BY id",
  ).all(Number(await scene.must("id", "-u", "ada")));
  assert.equal(rows.length, DENIED.length, JSON.stringify(rows));
  assert.ok(rows.every(({ code }) => code !== ""));
}

/** What the gateway's own user may not do, whatever page asked it. */
const GATEWAY_DENIED = [
  "secret set ANTHROPIC_API_KEY --value x --agent ada",
  "secret get ANTHROPIC_API_KEY --agent ada",
  "agents restart ada",
  "agents set ada --model x",
  "apply",
];

async function checkModelFromPage(scene: PackagedHost): Promise<void> {
  const key = "sk-a-key-from-the-page-0123456789";
  const chosen = { agent: "ada", provider: "openai-compatible", model: "m" };
  const address = { base_url: "http://127.0.0.1:9/v1" };
  const model = (body: unknown, owner = "ada@example.org") =>
    scene.askCockpit(owner, { method: "POST", path: "/api/model", body });
  const before = await scene.property(DIAL, "MainPID");
  const tried = await model({ ...chosen, ...address, key });
  assert.deepEqual([tried.status, tried.body.code], [422, "model-unreachable"]);
  assert.equal(await scene.property(DIAL, "MainPID"), before, "a refusal changes nothing");
  const foreign = await model({ ...chosen, ...address, key }, "bob@example.org");
  assert.deepEqual([foreign.status, foreign.body.code], [403, "agent-denied"]);
  const stored = await model({ ...chosen, ...address, key, check: false });
  assert.deepEqual([stored.status, stored.body.model, stored.body.key], [200, "m", "set"]);
  assert.notEqual(await scene.property(DIAL, "MainPID"), before);
  const env = "/etc/fleetctl/env/agent-ada.env";
  assert.match(await scene.host.read(env), new RegExp(`^FLEETCTL_MODEL_KEY="?${key}"?$`, "m"));
  assert.equal(await scene.modeOf(env), "640 root:ada");
  const sets = await scene.host.read("/usr/lib/fleetctl/permissions-ada.json");
  assert.ok(sets.includes("127.0.0.1:9"), "the runtime may reach the endpoint");
  const journal = await scene.must("journalctl", "--no-pager", "-o", "cat");
  assert.ok(!journal.includes(key), "no journal holds a key");
  for (const line of GATEWAY_DENIED) {
    const ended = await scene.run(["fleetctl", ...line.split(" ")], { user: "fleetctl-gateway" });
    assert.equal(ended.code, 4, `${line}\n${ended.err}`);
    assert.match(ended.err, /the caller is the gateway|for the gateway/, line);
  }
  const back = await model({ agent: "ada", provider: "demo" });
  assert.deepEqual([back.status, back.body.provider], [200, "demo"]);
  assert.match((await scene.turn("what can you do")).answer, /demo/i);
}

/** What the store's verbs do through the daemon and its permission sets, for ada and for root. */
async function checkStore(scene: PackagedHost): Promise<void> {
  const listed = await scene.ada("secret list");
  assert.match(listed.out, /^K +agents\.ada +[0-9a-f]{10} +\S+ \S+ +ada$/m, listed.err);
  assert.doesNotMatch(listed.out, /WEBVIEW_|FLEETCTL_|v 1/);
  for (const line of ["ledger log", "host set teams_gateway x", "secret rotate hmac"]) {
    assert.equal((await scene.ada(line)).code, 4, line);
  }
  await scene.must("fleetctl", "host", "set", "teams_gateway", "boreas");
  // The daemon signs its next grant with the new key, and the child believes it.
  await scene.must("fleetctl", "secret", "rotate", "host-op");
  await scene.must("fleetctl", "host", "unset", "teams_gateway");
  await scene.must("fleetctl", "secret", "rotate", "assertion", "--revoke");
  assert.match((await scene.turn("what can you do")).answer, /demo/i);
  const recovery = await scene.must("fleetctl", "secret", "recovery", "add");
  await scene.must("fleetctl", "secret", "rotate", "recipient");
  await scene.must("rm", "/etc/fleetctl/host.key");
  const lost = await scene.ada("secret get K --agent self");
  assert.match(lost.err, /Cannot use the host key .*: it does not exist/);
  const words = ["fleetctl", "secret", "recover", "--key", "-"];
  const recovered = await scene.run(words, { input: recovery });
  assert.equal(recovered.code, 0, recovered.err);
  assert.equal((await scene.ada("secret get K --agent self")).out, "v 1\n");
  for (const path of ["/etc/fleetctl/host.key", "/etc/fleetctl/host-op.env"]) {
    assert.equal(await scene.modeOf(path), "600 root:root");
  }
  assert.match(await scene.must("fleetctl", "ledger", "log"), /secret recover: the key of host/);
  // The gateway was restarted, and each agent comes back in its own time.
  for (const name of ["ada", "bob"]) await scene.said(GATEWAY, `register accepted agent=.*${name}`);
  assert.match(await scene.must("fleetctl", "status"), /nothing is wrong/);
}

async function checkWithoutDaemon(scene: PackagedHost): Promise<void> {
  await scene.must("systemctl", "stop", DAEMON);
  const ended = await scene.ada("status");
  assert.match(ended.err, /nobody answers on .*\nhint: systemctl start fleetctl-daemon\.service/);
  assert.equal(ended.code, 1);
  assert.equal((await scene.run(["fleetctl", "status", "--json"])).code, 0, "an operator reads");
  await scene.must("systemctl", "start", DAEMON);
}

/** A unit that starts without an entry left in /tmp gets one that it cannot write: it is said. */
async function checkTmpWithoutEntries(scene: PackagedHost): Promise<void> {
  const options = "mode=1777,size=8m,nr_inodes=200";
  await scene.must("mount", "-t", "tmpfs", "-o", options, "tmpfs", "/tmp");
  await scene.run(["sh", "-c", "i=0; while : > /tmp/$i; do i=$((i+1)); done 2> /dev/null"]);
  await scene.must("fleetctl", "agents", "restart", "ada");
  const pid = await scene.property(DIAL, "MainPID");
  const inside = await scene.run(["nsenter", "-t", pid, "-m", "--", "touch", "/tmp/x"]);
  assert.match(inside.err, /Read-only file system/);
  const told = await scene.run(["fleetctl", "doctor"]);
  assert.match(told.err, /The disk at "\/tmp" has 0 entries \(inodes\) left of 200, must have/);
  assert.match(
    told.err,
    /^ *\/tmp: units that start get their own there, read-only without room$/m,
  );
  assert.equal(told.code, 1);
  await scene.must("umount", "-l", "/tmp");
  await scene.must("fleetctl", "agents", "restart", "ada");
  await scene.said(DIAL, "gateway connected");
  assert.match(await scene.must("fleetctl", "doctor"), /setting/);
}

async function checkUpgrade(scene: PackagedHost): Promise<void> {
  const before = await scene.property(DIAL, "MainPID");
  await installPackage(scene);
  assert.equal(await scene.property(DIAL, "MainPID"), before);
  assert.equal(await scene.property(DAEMON, "ActiveState"), "active");
}

async function checkGatewayRestart(scene: PackagedHost): Promise<void> {
  const runtime = ["pgrep", "-u", "ada", "-f", "fleetctl-runtime"];
  const before = [await scene.property(DIAL, "MainPID"), await scene.must(...runtime)];
  const gateway = await scene.property(GATEWAY, "MainPID");
  await scene.must("systemctl", "restart", GATEWAY);
  assert.notEqual(await scene.property(GATEWAY, "MainPID"), gateway);
  assert.match((await scene.turn("what can you do")).answer, /demo/i);
  assert.deepEqual([await scene.property(DIAL, "MainPID"), await scene.must(...runtime)], before);
}

async function checkRemoval(scene: PackagedHost): Promise<void> {
  const running = async () => {
    const units = await scene.must(
      ...["systemctl", "list-units", "--plain", "--no-legend", "--state=active,activating,failed"],
      ...["fleetctl-*", "mcp-*"],
    );
    const { out } = await scene.run(["sh", "-c", "ps -eo args | grep '[l]ib/fleetctl'"]);
    return units + out;
  };
  const isThere = async (path: string) => (await scene.run(["test", "-e", path])).code === 0;
  assert.notEqual(await running(), "");
  await scene.must("dpkg", "-r", "fleetctl");
  assert.equal(await running(), "");
  assert.ok(await isThere("/var/lib/fleetctl/repo/secrets.age"), "removing keeps the fleet");
  await scene.must("dpkg", "-P", "fleetctl");
  assert.equal(await running(), "");
  for (
    const path of ["/etc/fleetctl", "/var/lib/fleetctl", "/usr/lib/fleetctl", "/usr/bin/fleetctl"]
  ) {
    assert.ok(!await isThere(path), path);
  }
  assert.equal(
    await scene.must("sh", "-c", "find /etc/systemd -name '*fleetctl*' -o -name 'mcp-*'"),
    "",
  );
  assert.ok(await isThere("/home/ada/.bashrc"), "homes belong to their users");
}

Deno.test("the package runs a fleet on a real host, and leaves nothing behind", async (t) => {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target" });
  const scene = new PackagedHost(host);
  const step = hostSteps(t, [host]);
  try {
    for (const entry of Deno.readDirSync(out)) {
      if (entry.name.endsWith(".deb")) await copyInto(host, `${out}/${entry.name}`, "/srv");
    }
    for (const name of ENTRIES_OF_UP) {
      await copyInto(host, `${VENDOR_CACHE}/${name}`, "/var/lib/fleetctl/vendor-cache");
    }
    let hash = "";
    await step("dpkg -i, two agents, an MCP and apply", () => installAndSetUp(scene));
    await step("files and processes belong to whom they should", () => checkOwners(scene));
    await step("a turn tells the real commit of a repository made inside", async () => {
      hash = await makeRepository(scene, REPOSITORY, "made inside");
      const { answer, tools } = await scene.turn(`last commit of ${REPOSITORY}`);
      assert.deepEqual(tools, ["git_log"]);
      assert.ok(answer.includes(hash) && answer.includes("made inside"), answer);
    });
    await step("the MCP server runs as the agent, its home read-only", () => checkServer(scene));
    await step("the agent and its servers share a /tmp of their own", () => checkScratch(scene));
    await step("the kernel refuses the socket to everybody else", () => checkSocket(scene));
    await step("what is not the agent's is unreadable for it", () => checkUnreadable(scene));
    await step(
      "the agent's verbs go through the daemon, others are refused and audited",
      () => checkVerbsOfAda(scene),
    );
    await step("secrets, markers and the ledger through the daemon", () => checkStore(scene));
    await step("an owner chooses a model in the page", () => checkModelFromPage(scene));
    await step("without the daemon an agent is told so", () => checkWithoutDaemon(scene));
    await step("a /tmp without entries is told", () => checkTmpWithoutEntries(scene));
    await step("Chromium runs below its server", () => checkBrowser(scene));
    await step("a shared server runs as a user of its own", () => checkSharedServer(scene, hash));
    await step(
      "team chat runs in two halves that cannot read one another",
      () => checkTeamchatHalves(scene, ROLES),
    );
    await step("the same package again restarts no agent", () => checkUpgrade(scene));
    await step("a restart of the gateway restarts no agent", () => checkGatewayRestart(scene));
    await step("a reboot brings everything back", async () => {
      await host.reboot();
      const { answer } = await scene.turn(`last commit of ${REPOSITORY}`);
      assert.ok(answer.includes(hash), answer);
      assert.match(await scene.must("fleetctl", "status"), /nothing is wrong/);
      await scene.said(DAEMON, '"event":"ready"');
      assert.equal((await scene.ada("mcp wired self")).code, 0);
    });
    await step(
      "dpkg -r stops everything, dpkg -P leaves nothing but homes",
      () => checkRemoval(scene),
    );
  } finally {
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
});
