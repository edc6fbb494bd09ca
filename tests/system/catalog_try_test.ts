/**
 * Tries a new server version on a real host, through the daemon, whose own sandbox forbids
 * namespaces. Checks what confines the try, what it shows, and that it leaves nothing behind.
 *
 * @module
 */

import assert from "node:assert/strict";
import { serverPackage, tool } from "tests/fakes/mcp_package.ts";
import { npmRegistry } from "tests/fakes/npm_registry.ts";
import { pythonIndex } from "tests/fakes/python_index.ts";
import { reachingServer, RPC_WHEEL } from "tests/fakes/python_server.ts";
import { bootHost, poll } from "tests/support/booted_host.ts";
import { registryInside } from "tests/support/host_registry.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import { buildPackage } from "tests/support/built_package.ts";
import { DAEMON, installPackage, PackagedHost } from "tests/support/packaged_host.ts";

const TRIES = "/var/lib/fleetctl/tries";
const READ = tool("read_page", "Reads a page", { annotations: { readOnlyHint: true } });
const WIPE = tool("wipe_page", "Wipes a page");

function version(number: string, more: Partial<Parameters<typeof serverPackage>[0]> = {}) {
  return serverPackage({ name: "@acme/wiki", version: number, tools: [READ], ...more });
}

/** A server that reads its engine, its home, and a file of its agent that is not granted. */
const REACH = serverPackage({
  name: "@acme/reach",
  version: "1.0.0",
  tools: [tool("look", "Looks around")],
  atStart: `import { readdirSync, readFileSync } from "node:fs";
const read = (path) => {
  try { return readFileSync(path, "utf8"); } catch (thrown) { return thrown.code; }
};`,
  atCall: `text = [typeof Deno, readdirSync(process.env.HOME).join(" "), read("/home/ada/secret"),
    process.env.REACH_SITE].join("\\n");`,
});

const PACKAGES = [
  version("1.0.0"),
  version("1.1.0", {
    tools: [READ, WIPE],
    atStart: `import { hostname } from "node:os"; hostname();
import { mkdirSync, writeFileSync } from "node:fs";
mkdirSync(".config/wiki", { recursive: true });
writeFileSync(".config/wiki/state", "kept");`,
  }),
  REACH,
  version("1.2.0", { atStart: `setInterval(() => {}, 1000); await new Promise(() => {});` }),
];

class Scene extends PackagedHost {
  catalog(...words: readonly string[]) {
    return this.run(["fleetctl", "mcp", "catalog", ...words]);
  }

  async tries(): Promise<readonly string[]> {
    const list = ["systemctl", "list-units", "--all", "--plain", "--no-legend"];
    const units = (await this.must(...list, "fleetctl-try-*.service")).trim();
    return units === "" ? [] : units.split("\n").map((line) => line.split(/\s+/)[0] ?? "");
  }

  async leftovers(): Promise<readonly string[]> {
    const found = await this.run(["find", TRIES, "-mindepth", "1", "-maxdepth", "1"]);
    return found.out.trim() === "" ? [] : found.out.trim().split("\n");
  }

  /** Starts an upgrade whose try never ends; returns the unit of that try. */
  async hang(): Promise<string> {
    const words = ["systemd-run", "--quiet", "--collect", "--unit=test-upgrade", "fleetctl"];
    await this.must(...words, "mcp", "catalog", "upgrade", "wiki", "--to", "1.2.0");
    return await poll("a server that is tried out", async () => {
      const [unit] = await this.tries();
      if (unit === undefined) return undefined;
      return await this.property(unit, "SubState") === "running" ? unit : undefined;
    });
  }
}

async function upgradeShowsIt(scene: Scene): Promise<void> {
  const added = await scene.catalog(
    "add",
    "wiki",
    "--npm",
    "@acme/wiki@1.0.0",
    "--env",
    "WIKI_KEY",
  );
  assert.equal(added.code, 0, added.out + added.err);
  assert.match(added.out, /tools {2}1: read_page/);
  const upgraded = await scene.catalog("upgrade", "wiki", "--to", "1.1.0");
  assert.equal(upgraded.code, 0, upgraded.out + upgraded.err);
  assert.doesNotMatch(upgraded.out + upgraded.err, /could not be tried out|all of them/);
  assert.match(upgraded.out, /new-tool +wipe_page +is new/);
  assert.match(upgraded.out, /permission {2}sys hostname/);
  assert.match(upgraded.out, /permission {2}write \{home\}\/\.config\/wiki/);
  const review = ["fleetctl", "mcp", "catalog", "review", "wiki", "--json"];
  const { held } = JSON.parse(await scene.must(...review));
  assert.deepEqual([Object.keys(held.tools), held.findings], [["wipe_page"], []]);
  assert.deepEqual(await scene.tries(), []);
  assert.deepEqual(await scene.leftovers(), []);
  const audit = JSON.parse(
    await scene.must("fleetctl", "audit", "list", "--json", "--limit", "10"),
  );
  const upgrade = (audit.decisions as readonly { verb: string; via: string }[])
    .find(({ verb }) => verb === "mcp catalog upgrade");
  assert.equal(upgrade?.via, "daemon", "root's verb went through the daemon's own sandbox");
}

async function isConfined(scene: Scene): Promise<void> {
  const unit = await scene.hang();
  const pid = await scene.property(unit, "MainPID");
  const status = await scene.must("cat", `/proc/${pid}/status`);
  assert.match(status, /^CapEff:\t0+$/m);
  assert.match(status, /^CapBnd:\t0+$/m);
  assert.match(status, /^NoNewPrivs:\t1$/m);
  assert.match(status, /^Seccomp:\t2$/m);
  const uid = Number(/^Uid:\t(\d+)/m.exec(status)?.[1]);
  assert.ok(uid >= 61184 && uid <= 65519, `a dynamic user: ${uid}`);
  const inside = (...words: readonly string[]) =>
    scene.run(
      ["nsenter", "-t", pid, "-m", "-n", "--root", "--wd", "--", "setpriv"]
        .concat([`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--", ...words]),
    );
  for (
    const hidden of [
      "/etc/fleetctl",
      "/var/lib/fleetctl/repo",
      "/var/lib/fleetctl/vendor-cache",
      "/home",
      "/root",
      "/run/fleetctl",
      "/run/mcp",
      "/run/dbus",
      "/etc/shadow",
      "/srv",
    ]
  ) {
    const seen = await inside("ls", hidden);
    assert.ok(seen.code !== 0 || seen.out.trim() === "", `${hidden}: ${seen.out}`);
  }
  // The file's content becomes the server's permissions, so no other user may write it.
  const [folder = ""] = await scene.leftovers();
  const forged = ["setpriv", "--reuid=4242", "--regid=4242", "--clear-groups", "--"];
  const audit = `${folder}/.audit-0`;
  await scene.must("test", "-f", audit);
  const report = await scene.run([...forged, "sh", "-c", ': >> "$1"', "sh", audit]);
  assert.notEqual(report.code, 0, "another user writes what the server asked for");
  const devices = await inside("cat", "/proc/self/net/dev");
  assert.ok(!/eth|host0|veth/.test(devices.out), devices.out);
  const registry = await inside("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/4873");
  assert.notEqual(registry.code, 0, "it reaches this host's loopback");
  const environment = (await scene.must("cat", `/proc/${pid}/environ`)).split("\0");
  assert.ok(environment.includes("WIKI_KEY=made-up"));
  assert.ok(
    !environment.some((one) => /4873|registry/i.test(one)),
    "how this site reaches its registry",
  );
  assert.match(await scene.property(unit, "MemoryMax"), /^536870912$/);
  assert.equal(await scene.property(unit, "TasksMax"), "128");
  assert.equal(await scene.property(unit, "RuntimeMaxUSec"), "2min");
}

async function killedInTheMiddle(scene: Scene): Promise<void> {
  const [unit = ""] = await scene.tries();
  assert.equal((await scene.leftovers()).length, 1);
  const daemon = await scene.property(DAEMON, "MainPID");
  await scene.must("kill", "-9", daemon);
  await poll(
    "an end of the try",
    async () => (await scene.tries()).length === 0 ? true : undefined,
  );
  await poll("a daemon again", async () => {
    const pid = await scene.property(DAEMON, "MainPID");
    return pid !== "0" && pid !== daemon ? true : undefined;
  });
  const shown = await scene.catalog("list", "--json");
  assert.match(shown.out, /@acme\/wiki@1\.1\.0/, `the pin is as it was (${unit})`);
  // Only one empty home is left on the disk; the next try removes it.
  const next = await scene.catalog("upgrade", "wiki", "--to", "1.0.0");
  assert.equal(next.code, 0, next.out + next.err);
  assert.deepEqual(await scene.leftovers(), []);
  assert.deepEqual(await scene.tries(), []);
}

/** These servers' annotations let no tool run without a human, so the entry sets the risk. */
const FREE = ["--risk", "*=allow"];
const PYTHON_WORDS = ["--uvx", "acme-wiki==1.0.0", "--env", "WIKI_KEY"]
  .concat(["--set-env", "WIKI_SITE=of the catalog"]);

/** What a server tries to reach, and the result it must get. */
type Reach = readonly [name: string, what: string, want: RegExp];

/** Makes the running server try to reach each target, through its socket. */
async function reach(scene: Scene, mcp: string, all: readonly Reach[]): Promise<void> {
  const text = JSON.stringify(all.map(([name, what]) => [name, what]));
  const words = ["fleetctl", "mcp", "call", mcp, "all", "ada", "--args", JSON.stringify({ text })];
  const answers = JSON.parse(await scene.must(...words)) as readonly string[];
  for (const [at, [name, what, want]] of all.entries()) {
    assert.ok(want.test(answers[at] ?? ""), `${name} ${what}: ${answers[at]}`);
  }
}

const NOT_THERE = /^FileNotFoundError/;
const NO_WAY = /^(OSError|ConnectionRefusedError)/;

async function pythonIsConfined(scene: Scene): Promise<void> {
  const added = await scene.catalog(
    "add",
    "pywiki",
    ...PYTHON_WORDS,
    ...FREE,
    "--grant",
    "read={home}/notes",
    "--grant",
    "write={home}/drafts",
  );
  assert.equal(added.code, 0, added.out + added.err);
  assert.match(added.out, /tools {2}7: all, host, read, write, list, variable, program/);
  assert.deepEqual(await scene.leftovers(), []);
  // The registries lack the agent's default MCP. The agent is added anyway, and the MCP removed.
  await scene.run(
    ["fleetctl", "agents", "add", "ada", "--channel", "webview", "--user-email", "a@example.org"],
  );
  await scene.must("fleetctl", "mcp", "remove", "browser", "ada");
  await scene.must("fleetctl", "secret", "set", "WIKI_KEY", "--value", "k", "--agent", "ada");
  // systemd reads an agent's env file after the variables that its units set.
  for (const name of ["WIKI_SITE", "REACH_SITE"]) {
    await scene.must("fleetctl", "secret", "set", name, "--value", "stolen", "--agent", "ada");
  }
  const files = "cd /home/ada && mkdir notes drafts && echo granted > notes/a && echo x > secret";
  await scene.must("sh", "-c", files);
  await scene.must("chown", "-R", "ada:ada", "/home/ada/notes", "/home/ada/drafts");
  await scene.must("fleetctl", "mcp", "add", "pywiki", "ada");

  await reach(scene, "pywiki", [
    ["read", "/home/ada/notes/a", /^granted/],
    ["write", "/home/ada/drafts/b", /^done$/],
    ["write", "/home/ada/notes/a", /Read-only file system/],
    ["write", "/var/lib/fleetctl/deploy/wiki/x", /^(OSError|FileNotFoundError)/],
    ["list", "/home/ada", /^drafts notes$/],
    ["read", "/home/ada/secret", NOT_THERE],
    ["read", "/etc/fleetctl/env/agent-ada.env", NOT_THERE],
    ["read", "/etc/shadow", NOT_THERE],
    ["read", "/run/fleetctl/fleetctl.sock", NOT_THERE],
    ["list", "/var/lib/fleetctl/repo", NOT_THERE],
    ["list", "/srv", NOT_THERE],
    ["program", "/home/ada/secret", /No such file/],
    ["variable", "WIKI_KEY", /^k$/],
    ["variable", "FLEETCTL_PERMISSIONS", /^None$/],
    ["variable", "NO_COLOR", /^1$/],
    ["variable", "WIKI_SITE", /^of the catalog$/],
    ["host", "4874", NO_WAY],
  ]);
  assert.equal(await scene.must("stat", "-c", "%U", "/home/ada/drafts/b"), "ada\n");
  const denied = await scene.run(
    ["fleetctl", "mcp", "call", "pywiki", "host", "ada", "--args", '{"text":"4874"}'],
  );
  assert.match(denied.err, /Cannot let MCP "pywiki" use net "\*": its manifest does not grant it/);

  const granted = await scene.catalog("upgrade", "pywiki", "--to", "1.0.0", "--grant", "net=*");
  assert.equal(granted.code, 0, granted.out + granted.err);
  await reach(scene, "pywiki", [["host", "4874", /^done$/], ["read", "/etc/shadow", NOT_THERE]]);
}

/** Checks that the try and the unit build the same sandbox for real Node. */
async function nodeIsConfined(scene: Scene): Promise<void> {
  const pin = ["--npm", "@acme/reach@1.0.0", "--engine", "node", "--set-env", "REACH_SITE={home}"];
  const added = await scene.catalog("add", "reach", ...pin, ...FREE);
  assert.equal(added.code, 0, added.out + added.err);
  assert.match(added.out, /^tools {2}1: look$/m, added.err);
  await scene.must("fleetctl", "mcp", "add", "reach", "ada");
  const call = ["fleetctl", "mcp", "call", "reach", "look", "ada"];
  const output = (await scene.must(...call, "--args", '{"text":"x"}')).split("\n");
  assert.deepEqual(output.slice(0, 4), ["undefined", "", "ENOENT", "/home/ada"]);
}

/**
 * Checks that doctor and a call report the same fault, as root and as the agent through its own
 * proxy.
 */
async function alteredTreeIsNamed(scene: Scene): Promise<void> {
  const folder = "/var/lib/fleetctl/deploy/pywiki";
  const file =
    (await scene.must("find", "-L", `${folder}/current`, "-name", "*.py")).split("\n")[0];
  await scene.must("sh", "-c", `echo '# altered' >> "$1"`, "sh", file ?? "");
  const call = ["fleetctl", "mcp", "call", "pywiki", "list"];
  const asked = ["--args", '{"text":"/home/ada"}'];
  const root = await scene.run([...call, "ada", ...asked]);
  const own = await scene.run([...call, "self", ...asked], { user: "ada" });
  for (const [ended, apply] of [[root, "fleetctl apply"], [own, "fleetctl apply self"]] as const) {
    assert.equal(ended.code, 1, ended.out + ended.err);
    assert.match(
      ended.err,
      /Cannot start MCP "pywiki": its files are not those that were installed/,
    );
    assert.match(ended.err, new RegExp(`^hint: ${apply}$`, "m"));
    assert.doesNotMatch(ended.err, /reset|journalctl/);
  }
  await scene.must("fleetctl", "apply");
  await reach(scene, "pywiki", [["read", "/home/ada/notes/a", /^granted/]]);
}

/** Checks that a grant of the whole home still hides the agent's keys and sign-ins. */
async function keysAreClosed(scene: Scene): Promise<void> {
  const granted = await scene.catalog(
    "upgrade",
    "pywiki",
    "--to",
    "1.0.0",
    "--grant",
    "read={home}",
    "--grant",
    "write={home}",
  );
  assert.equal(granted.code, 0, granted.out + granted.err);
  const oauth =
    "mkdir -p /home/ada/.fleetctl/oauth/mail && echo t > /home/ada/.fleetctl/oauth/mail/t";
  const written = await scene.run(["sh", "-c", oauth], { user: "ada" });
  assert.equal(written.code, 0, written.err);
  await reach(scene, "pywiki", [
    ["read", "/home/ada/secret", /^x/],
    ["write", "/home/ada/drafts/c", /^done$/],
    ["list", "/home/ada/.fleetctl/dial", /^PermissionError|^$/],
    ["write", "/home/ada/.fleetctl/dial/c", /^PermissionError|^OSError/],
    ["read", "/home/ada/.fleetctl/oauth/mail/t", /^(PermissionError|FileNotFoundError)/],
    ["write", "/home/ada/.runtime-b/agent/mcp.json", /^PermissionError|^OSError/],
  ]);
}

/** Replaces a folder of ada's with a link into a folder that only its owner can reach. */
const PLANT =
  `cd /home/ada && rm -rf -- "$1" && mkdir -p "$(dirname -- "$1")" && ln -s /home/bob/open "$1"`;

async function linksLeadNowhere(scene: Scene): Promise<void> {
  await scene.must("useradd", "--create-home", "bob");
  await scene.must("chmod", "0700", "/home/bob");
  await scene.must("sh", "-c", "mkdir -m 0777 /home/bob/open && echo private > /home/bob/open/a");
  const plants: readonly (readonly [folder: string, tool: string, path: string])[] = [
    ["notes", "read", "/home/ada/notes/a"],
    ["drafts", "write", "/home/ada/drafts/b"],
    [".cache/fleetctl/mcp-pywiki", "write", "/home/ada/.cache/fleetctl/mcp-pywiki/b"],
  ];
  for (const [folder, tool, path] of plants) {
    const planted = await scene.run(["sh", "-c", PLANT, "sh", folder], { user: "ada" });
    assert.equal(planted.code, 0, planted.err);
    const words = ["fleetctl", "mcp", "call", "pywiki", tool, "ada", "--args"];
    const ended = await scene.run([...words, JSON.stringify({ text: path })]);
    assert.doesNotMatch(ended.out, /private|done/, folder);
    assert.equal((await scene.run(["test", "-e", "/home/bob/open/b"])).code, 1, folder);
    await scene.must("rm", `/home/ada/${folder}`);
  }
}

async function sharedPythonIsNobody(scene: Scene): Promise<void> {
  const added = await scene.catalog(
    "add",
    "pyshared",
    "--uvx",
    "acme-wiki==1.0.0",
    "--shared",
    ...FREE,
  );
  assert.equal(added.code, 0, added.out + added.err);
  await scene.must("fleetctl", "mcp", "add", "pyshared", "ada");
  const home = "/var/cache/fleetctl/mcp-pyshared";
  await reach(scene, "pyshared", [["write", `${home}/kept`, /^done$/]]);
  await reach(scene, "pyshared", [
    ["list", home, /\bkept\b/],
    ["list", "/home", /^(FileNotFoundError.*)?$/],
    ["list", "/var/lib/fleetctl", /^deploy permissions$/],
    ["list", "/var/lib/fleetctl/permissions", /^host\.json$/],
    ["read", "/etc/fleetctl/env/mcp-shared.env", NOT_THERE],
    ["host", "4874", NO_WAY],
  ]);
}

Deno.test("a version is tried out through the daemon in its own unit", async (t) => {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target", name: "trying" });
  const step = hostSteps(t, [host]);
  await using packages = await npmRegistry(PACKAGES);
  await using wheels = await pythonIndex([RPC_WHEEL, reachingServer("1.0.0")]);
  try {
    const scene = new Scene(host);
    await installPackage(host, out);
    await using registry = await registryInside(host, packages.url, 4873);
    await using index = await registryInside(host, wheels.url, 4874);
    await Deno.mkdir(`${host.root}/etc/fleetctl/env`, { recursive: true });
    await Deno.writeTextFile(
      `${host.root}/etc/fleetctl/env/registry.env`,
      `NPM_CONFIG_REGISTRY=${registry.url}\nPIP_INDEX_URL=${index.url}\n`,
    );
    await step(
      "an upgrade shows its tools and holds back only the widened ones",
      () => upgradeShowsIt(scene),
    );
    await step("the server that is tried out sees and reaches nothing", () => isConfined(scene));
    await step("a daemon killed in the middle leaves no server", () => killedInTheMiddle(scene));
    await step(
      "a Python server sees only what its manifest grants",
      () => pythonIsConfined(scene),
    );
    await step("a server under Node is confined in the same way", () => nodeIsConfined(scene));
    await step(
      "a call to an altered server reports the alteration",
      () => alteredTreeIsNamed(scene),
    );
    await step("a grant of the home opens no keys", () => keysAreClosed(scene));
    await step("a link in one home opens no other home", () => linksLeadNowhere(scene));
    await step(
      "a shared Python server sees only its grants, as the user nobody",
      () => sharedPythonIsNobody(scene),
    );
  } finally {
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
});
