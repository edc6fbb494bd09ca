/**
 * Python entries: pinned, locked, vendored, tried out and upgraded, with the host's own pip against
 * an index on loopback. Also what a bad index or package cannot do.
 *
 * @module
 */

import assert from "node:assert/strict";
import { deniedInSandbox } from "core/catalog/denied.ts";
import { parsePythonLock } from "core/catalog/python_lock.ts";
import { parseManifest } from "core/catalog/parse_manifest.ts";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "cli/os/mcp_client.ts";
import type { AgentName } from "core/names.ts";
import { tool } from "tests/fakes/mcp_package.ts";
import { reachingServer } from "tests/fakes/python_server.ts";
import type { CatalogHost } from "tests/support/catalog_host.ts";
import { entryOf, pythonCatalog, READ, wiki } from "tests/support/python_catalog.ts";
import { serverCommand } from "units/render/mcp/command.ts";

const WIPE = tool("wipe_page", "Wipes a page");

Deno.test("mcp catalog add pins a Python package and its dependencies, and tries it", async () => {
  await using scene = await pythonCatalog([wiki("1.0.0")]);
  const { host, index } = scene;
  const added = await host.json("mcp", "catalog", "add", "wiki", "--uvx", "acme-wiki==1.0.0");
  assert.deepEqual(added["tools"], ["read_page"]);
  assert.equal(added["source"], "acme-wiki==1.0.0");
  const folder = `${host.paths.overlayCatalog}/wiki`;
  const manifest = await Deno.readTextFile(`${folder}/mcp.yaml`);
  assert.match(manifest, /uvx: acme-wiki==1\.0\.0/);
  assert.match(manifest, /lock: sha256-.*\n\s+tree: sha256-/);
  assert.match(manifest, /command: site\/bin\/acme-wiki/);
  const lock = parsePythonLock(await Deno.readTextFile(`${folder}/requirements.lock`)) ?? [];
  assert.deepEqual(lock.map((one) => `${one.package}==${one.version}`), [
    "acme-rpc==2.0.1",
    "acme-wiki==1.0.0",
  ]);
  await assert.rejects(Deno.stat(`${folder}/deno.lock`), Deno.errors.NotFound);
  assert.equal((await entryOf(host, "wiki"))?.summary, "A Python server for tests");

  // It can be wired, and a second host installs it from its cache alone.
  const wired = await host.run("mcp", "add", "wiki", "ada");
  assert.equal(wired.code, 0, wired.stderr);
  const current = `${host.paths.deploy("wiki")}/current`;
  assert.match(await Deno.readLink(current), /^1\.0\.0-/);
  await Deno.remove(current);
  for (const { name } of [...Deno.readDirSync(host.paths.deploy("wiki"))]) {
    await Deno.remove(`${host.paths.deploy("wiki")}/${name}`, { recursive: true });
  }
  const asked = index.requests.length;
  const applied = await host.run("apply");
  assert.equal(applied.code, 0, applied.stderr);
  assert.match(await Deno.readLink(current), /^1\.0\.0-/);
  assert.equal(index.requests.length, asked, "offline, from the entry's own wheels");
});

Deno.test("an upgrade of a Python package holds back new tools and new rights", async () => {
  await using scene = await pythonCatalog([
    wiki("1.0.0"),
    wiki("1.1.0", { tools: [READ, WIPE] }),
    wiki("1.2.0", { atCall: `import subprocess\nsubprocess.run(["true"])` }),
  ]);
  const { host } = scene;
  await host.json("mcp", "catalog", "add", "wiki", "--uvx", "acme-wiki==1.0.0");
  const upgraded = await host.run("mcp", "catalog", "upgrade", "wiki", "--to", "1.1.0");
  assert.equal(upgraded.code, 0, upgraded.stderr);
  assert.match(upgraded.stdout, /new-tool +wipe_page +is new/);
  assert.match(upgraded.stdout, /code +1 changed, 0 added, 0 removed/);
  assert.deepEqual(Object.fromEntries((await entryOf(host, "wiki"))?.risk ?? []), {
    wipe_page: "block",
  });
  const asked = scene.index.requests.length;
  assert.equal((await host.run("mcp", "catalog", "rollback", "wiki")).code, 0);
  assert.equal((await entryOf(host, "wiki"))?.risk.size, 0);
  assert.equal(scene.index.requests.length, asked);
  const second = await host.run("mcp", "catalog", "upgrade", "wiki", "--to", "1.2.0");
  assert.match(second.stdout, /its code starts programs, the version before did not/);
  const range = await host.run("mcp", "catalog", "upgrade", "wiki", "--to", ">=1");
  assert.equal(range.code, 2, range.stdout);
});

/** Calls a tool of the server; returns the text of its answer. */
type Ask = (tool: string, text: string) => Promise<string>;

/** Installs the server with grants for two folders of ada's home, and wires it to her. */
async function wireReachingServer(host: CatalogHost): Promise<void> {
  const home = host.paths.home("ada");
  await Deno.mkdir(`${home}/notes`, { recursive: true });
  await Deno.mkdir(`${home}/drafts`);
  await Deno.writeTextFile(`${home}/notes/a`, "granted");
  await Deno.writeTextFile(`${home}/secret`, "never");
  const words = ["mcp", "catalog", "add", "wiki", "--uvx", "acme-wiki==1.0.0", "--env", "WIKI_KEY"];
  await host.json(...words, "--grant", "read={home}/notes", "--grant", "write={home}/drafts");
  await host.run("secret", "set", "WIKI_KEY", "--value", "k", "--agent", "ada");
  assert.equal((await host.run("mcp", "add", "wiki", "ada")).code, 0);
}

/** Returns calls of the server in the sandbox of its manifest. */
async function inSandbox(host: CatalogHost): Promise<Ask> {
  const manifest = await entryOf(host, "wiki");
  assert.ok(manifest !== undefined);
  const home = host.paths.home("ada");
  const place = { paths: host.paths, agent: "ada" as AgentName, workdir: home, closed: [] };
  // Skip the check of the tree and the choice of variables, which have their own tests.
  const [command = "", ...args] = serverCommand(manifest, place).slice(4);
  const env = { PATH: "/usr/bin:/bin", HOME: home, WIKI_KEY: "k" };
  const client = systemMcpClient(openHost({ log: { program: "test", level: "error" } }));
  return async (name, text) => {
    const call = { tool: name, arguments: { text } };
    const answer = await client.callTool("wiki", { command, args, env }, call);
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.value.text;
  };
}

/** Checks that each denial is one line, with the grant that would allow it. */
async function checkDenials(host: CatalogHost, port: string, ask: Ask): Promise<void> {
  const manifest = await entryOf(host, "wiki");
  assert.ok(manifest !== undefined);
  const lines = async (name: string, text: string) =>
    deniedInSandbox(manifest, await ask(name, text)).map((
      { message, hints },
    ) => [message, ...hints]);
  const upgrade = "fleetctl mcp catalog upgrade wiki --to 1.0.0 --grant";
  assert.deepEqual(await lines("host", port), [[
    `Cannot let MCP "wiki" use net "*": its manifest does not grant it`,
    `${upgrade} 'net=*'`,
  ]]);
  assert.deepEqual(await lines("read", "/srv/x"), [[
    `Cannot let MCP "wiki" use read "/srv/x": its manifest does not grant it`,
    `${upgrade} read=/srv/x`,
  ]]);
  const notes = `${host.paths.home("ada")}/notes`;
  const [[write] = []] = await lines("write", `${notes}/a`);
  assert.match(write ?? "", /use write ".*\/notes\/a": its manifest does not grant it/);
  assert.deepEqual(await lines("read", `${notes}/none`), [], "a file that is not there");
}

Deno.test("a Python server reaches no host, file or variable that is not granted", async () => {
  await using scene = await pythonCatalog([reachingServer("1.0.0")]);
  const { host, index } = scene;
  await wireReachingServer(host);
  const home = host.paths.home("ada");
  const { port } = new URL(index.url);
  const ask = await inSandbox(host);
  const rows: readonly (readonly [tool: string, text: string, answer: RegExp])[] = [
    ["host", port, /^(ConnectionRefusedError|OSError): /],
    ["read", `${home}/secret`, /^FileNotFoundError: /],
    ["program", `${home}/secret`, /No such file/],
    ["list", host.paths.etc, /^FileNotFoundError: /],
    ["read", "/etc/shadow", /^FileNotFoundError: /],
    ["list", home, /^drafts notes$/],
    ["read", `${home}/notes/a`, /^granted$/],
    ["write", `${home}/notes/a`, /^OSError: .*Read-only/],
    ["write", `${host.paths.deploy("wiki")}/x`, /^OSError: .*Read-only/],
    ["write", `${home}/drafts/b`, /^done$/],
    ["variable", "WIKI_KEY", /^k$/],
  ];
  for (const [name, text, answer] of rows) {
    assert.match(await ask(name, text), answer, `${name} ${text}`);
  }
  assert.equal(await Deno.readTextFile(`${home}/drafts/b`), "x");
  await checkDenials(host, port, ask);

  await host.json("mcp", "catalog", "upgrade", "wiki", "--to", "1.0.0", "--grant", "net=*");
  const askOpen = await inSandbox(host);
  assert.equal(await askOpen("host", port), "done");
  const service = `${host.paths.units}/mcp-wiki-ada@.service`;
  const unit = await Deno.readTextFile(service);
  assert.match(
    unit,
    /ExecStart=\S+fleetctl-checked wiki \S+fleetctl-keep-env \S*WIKI_KEY\S* \/usr\/bin\/bwrap /,
  );
});

Deno.test("a manifest of a Python package accepts nothing that cannot be enforced", async () => {
  await using scene = await pythonCatalog([wiki("1.0.0")]);
  const words = ["mcp", "catalog", "add", "wiki", "--uvx", "acme-wiki==1.0.0"];
  const refused = await scene.host.run(...words, "--grant", "net=api.example.org:443");
  assert.equal(refused.code, 1, refused.stdout);
  assert.match(refused.stderr, /must be "\*": a Python server cannot be limited to single hosts/);
  assert.equal(await entryOf(scene.host, "wiki"), undefined);
  const hash = `sha256-${"A".repeat(43)}=`;
  const base = `name: wiki\nsummary: A wiki\nsource: {uvx: acme-wiki==1.0.0}\n` +
    `integrity: {lock: ${hash}}\ncommand: site/bin/acme-wiki\n`;
  const site = { name: "wiki", file: "wiki/mcp.yaml", origin: "overlay", lock: "x" } as const;
  assert.ok(parseManifest(base, site).ok);
  assert.ok(parseManifest(`${base}permissions: {net: ["*"], read: ["/srv"]}\n`, site).ok);
  for (
    const [line, want] of [
      [
        "permissions: {run: [git]}",
        /run: is not allowed for a Python server: its sandbox also confines the programs/,
      ],
      [
        "permissions: {sys: [hostname]}",
        /permissions\.sys: is not allowed for a Python server: its sandbox cannot enforce it/,
      ],
      ["permissions: {read: ['/a:b']}", /must not contain a space, colon/],
      ["permissions: {write: ['/a b']}", /must not contain a space, colon/],
      ["engine: deno", /engine: is not allowed/],
      ["run_as: root", /run_as: must be absent: root would leave the sandbox/],
    ] as const
  ) {
    const parsed = parseManifest(`${base}${line}\n`, site);
    assert.ok(!parsed.ok, line);
    assert.match((parsed.error.details ?? []).join("\n"), want);
  }
  const { lock: _, ...bare } = site;
  const unlocked = parseManifest(base, bare);
  assert.match(unlocked.ok ? "" : String(unlocked.error.details), /no "requirements\.lock"/);
});
