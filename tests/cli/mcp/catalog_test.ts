/**
 * The verbs of the catalog, end to end in one process: real installs from a registry on loopback,
 * real servers, real git.
 *
 * @module
 */

import assert from "node:assert/strict";
import { serverPackage, tool } from "tests/fakes/mcp_package.ts";
import { catalogHost } from "tests/support/catalog_host.ts";

const READ = tool("read_page", "Reads a page", { annotations: { readOnlyHint: true } });
const WIKI = serverPackage({ name: "@acme/wiki", version: "1.0.0", tools: [READ] });

Deno.test("mcp catalog add pins into the overlay in one commit, ready to wire", async () => {
  await using host = await catalogHost([WIKI]);
  const added = await host.json("mcp", "catalog", "add", "wiki", "--npm", "@acme/wiki@1.0.0");
  assert.deepEqual([added["layer"], added["tools"]], ["overlay", ["read_page"]]);
  const folder = `${host.paths.overlayCatalog}/wiki`;
  const manifest = await Deno.readTextFile(`${folder}/mcp.yaml`);
  assert.match(manifest, /npm: "?@acme\/wiki@1\.0\.0"?/);
  assert.match(manifest, /package: sha512-/);
  const tools = JSON.parse(await Deno.readTextFile(`${folder}/tools.lock`));
  assert.equal(tools.tools.read_page.definition.description, "Reads a page");
  const log = await new Deno.Command("git", {
    args: ["-C", host.paths.repo, "log", "-1", "--format=%s"],
  })
    .output();
  assert.equal(
    new TextDecoder().decode(log.stdout).trim(),
    'mcp catalog add: "wiki" at @acme/wiki@1.0.0',
  );
  const wired = await host.run("mcp", "add", "wiki", "ada");
  assert.equal(wired.code, 0, wired.stderr);
});

Deno.test("mcp catalog add refuses ranges, tags, unknown packages and taken names", async () => {
  await using host = await catalogHost([WIKI]);
  for (
    const [argv, code, exit] of [
      [["wiki", "--npm", "@acme/wiki@^1.0.0"], "pin-invalid", 2],
      [["wiki", "--npm", "@acme/wiki@latest"], "pin-invalid", 2],
      [["wiki"], "source-missing", 2],
      [
        ["wiki", "--npm", "@acme/wiki@1.0.0", "--url", "https://x.example/mcp"],
        "source-missing",
        2,
      ],
      [["wiki", "--npm", "@acme/nothing@1.0.0"], "package-not-found", 1],
      [["wiki", "--npm", "@acme/wiki@9.9.9"], "package-not-found", 1],
      [["git", "--npm", "@acme/wiki@1.0.0"], "mcp-exists", 1],
      [["wiki", "--npm", "@acme/wiki@1.0.0", "--into", "/srv/x"], "layer-unknown", 2],
      [["wiki", "--npm", "@acme/wiki@1.0.0", "--grant", "ffi=x"], "grant-invalid", 2],
      [["wiki", "--npm", "@acme/wiki@1.0.0", "--grant", "net=http://x"], "manifest-invalid", 1],
      [["wiki", "--url", "http://example.org/mcp"], "manifest-invalid", 2],
    ] as const
  ) {
    const ended = await host.run("mcp", "catalog", "add", ...argv, "--json");
    const { error } = JSON.parse(ended.stdout);
    assert.deepEqual([error.code, ended.code], [code, exit], ended.stdout);
  }
  const listed = await host.json("mcp", "catalog", "list");
  assert.equal((listed["entries"] as unknown[]).length, 22);
  assert.deepEqual(listed["faults"], []);
  const left = await Array.fromAsync(Deno.readDir(`${host.paths.deploy("wiki")}`));
  assert.deepEqual(left, [], "nothing is left of what was refused");
});

Deno.test("mcp catalog add writes the runtime catalog without a repo", async () => {
  await using bare = await catalogHost([WIKI], { ledger: false });
  const added = await bare.json("mcp", "catalog", "add", "wiki", "--npm", "@acme/wiki@1.0.0");
  assert.equal(added["layer"], "runtime");
  // A change killed between its two renames leaves the entry under a temporary name.
  const { runtimeCatalog } = bare.paths;
  await Deno.rename(`${runtimeCatalog}/wiki`, `${runtimeCatalog}/.wiki.old`);
  assert.equal((await bare.run("mcp", "catalog", "review", "wiki")).code, 0);
  assert.ok((await Deno.stat(`${bare.paths.runtimeCatalog}/wiki/mcp.yaml`)).isFile);

  await using host = await catalogHost([WIKI]);
  const pin = ["--npm", "@acme/wiki@1.0.0"];
  const own = await host.json("mcp", "catalog", "add", "wiki", ...pin, "--into", "runtime");
  assert.equal(own["layer"], "runtime");
  await Deno.mkdir(`${host.paths.overlayCatalog}/wiki`, { recursive: true });
  for (const name of ["mcp.yaml", "deno.lock", "tools.lock"]) {
    const text = await Deno.readTextFile(`${host.paths.runtimeCatalog}/wiki/${name}`);
    await Deno.writeTextFile(
      `${host.paths.overlayCatalog}/wiki/${name}`,
      text.replace("A server for tests", "The overlay's own"),
    );
  }
  const shown = await host.run("mcp", "catalog", "browse", "wiki");
  assert.match(shown.stdout, /The overlay's own/);
});

Deno.test("mcp catalog remove refuses shipped and wired entries, names the agents", async () => {
  await using host = await catalogHost([WIKI]);
  await host.json("mcp", "catalog", "add", "wiki", "--npm", "@acme/wiki@1.0.0");
  assert.equal((await host.run("mcp", "add", "wiki", "ada")).code, 0);
  const wired = await host.run("mcp", "catalog", "remove", "wiki");
  assert.equal(wired.code, 1);
  assert.match(wired.stderr, /it is wired to "ada"/);
  assert.match(wired.stderr, /hint: fleetctl mcp remove wiki ada/);
  const shipped = await host.run("mcp", "catalog", "remove", "notes");
  assert.equal(shipped.code, 1);
  assert.match(shipped.stderr, /it ships with the product/);
  assert.equal((await host.run("mcp", "remove", "wiki", "ada")).code, 0);
  assert.equal((await host.run("mcp", "catalog", "remove", "wiki")).code, 0);
  for (const path of [`${host.paths.overlayCatalog}/wiki`, host.paths.deploy("wiki")]) {
    await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
  }
  assert.equal((await host.run("mcp", "catalog", "remove", "wiki")).code, 1);
});

Deno.test("two concurrent adds: one adds, the other is refused as a duplicate", async () => {
  await using host = await catalogHost([WIKI]);
  const add = () =>
    host.run("mcp", "catalog", "add", "wiki", "--npm", "@acme/wiki@1.0.0", "--json");
  const both = await Promise.all([add(), add()]);
  assert.deepEqual(both.map(({ code }) => code).sort(), [0, 1]);
  const refused = both.find(({ code }) => code === 1);
  assert.equal(JSON.parse(refused?.stdout ?? "").error.code, "mcp-exists");
});

Deno.test("mcp catalog add proposes the permissions that a server requested", async () => {
  const asking = serverPackage({
    name: "@acme/asking",
    version: "1.0.0",
    tools: [READ],
    atStart: `import { homedir, hostname } from "node:os";
import { mkdirSync, readFileSync } from "node:fs";
hostname();
mkdirSync(homedir() + "/.config/asking", { recursive: true });
process.env.ASKING_TOKEN;
try { readFileSync("/etc/shadow"); } catch { /* denied */ }`,
    atCall: `try { await fetch("https://api.wiki.example/page"); } catch (e) { text = String(e); }`,
  });
  await using host = await catalogHost([asking]);
  const argv = ["mcp", "catalog", "add", "asking", "--npm", "@acme/asking@1.0.0"];
  const added = await host.json(...argv);
  const held = added["held"] as Record<string, unknown>;
  assert.deepEqual(held["permissions"], {
    net: ["api.wiki.example:443"],
    read: ["{home}/.config/asking"],
    write: ["{home}/.config/asking"],
    sys: ["homedir", "hostname"],
  });
  assert.deepEqual(added["refused"], ["read /etc/shadow"]);
  assert.deepEqual(added["asked_keys"], ["ASKING_TOKEN"]);
  const before = await Deno.readTextFile(`${host.paths.overlayCatalog}/asking/mcp.yaml`);
  assert.doesNotMatch(before, /permissions/);

  const review = ["mcp", "catalog", "review", "asking"];
  const wrong = await host.run(...review, "--accept", "sha256-other", "--json");
  assert.deepEqual([wrong.code, JSON.parse(wrong.stdout).error.code], [1, "review-stale"]);
  assert.equal((await host.run(...review, "--accept", String(held["hash"]))).code, 0);
  const after = await Deno.readTextFile(`${host.paths.overlayCatalog}/asking/mcp.yaml`);
  assert.match(after, /api\.wiki\.example:443/);
  assert.match(after, /hostname/);
  assert.match((await host.run(...review)).stdout, /nothing waits/);
});

Deno.test("mcp catalog import adds what a server.json describes, by file or URL", async () => {
  await using host = await catalogHost([WIKI]);
  const document = {
    name: "io.github.acme/wiki-server",
    description: "Pages of a wiki",
    version: "1.0.0",
    packages: [{
      registryType: "npm",
      identifier: "@acme/wiki",
      version: "1.0.0",
      transport: { type: "stdio" },
      environmentVariables: [{ name: "WIKI_TOKEN", isRequired: true, isSecret: true }],
    }],
  };
  await Deno.writeTextFile(`${host.root}/server.json`, JSON.stringify(document));
  const words = ["mcp", "catalog", "import", `${host.root}/server.json`];
  const asked = await host.run(...words, "--risk", "*=ask");
  assert.equal(asked.code, 1, asked.stdout);
  assert.match(asked.stderr, /asks for keys that were not accepted \(WIKI_TOKEN\)/);
  assert.match(asked.stderr, /^ {2}sees {3}WIKI_TOKEN: a secret of its agent, required$/m);
  const hint = /^hint: fleetctl (.*)$/m.exec(asked.stderr)?.[1] ?? "";
  assert.equal(hint, `${words.join(" ")} --risk '*=ask' --env WIKI_TOKEN`);
  const keys = ["--env", "WIKI_TOKEN"];
  const other = await host.run(...words, ...keys, "--env", "OTHER_KEY", "--json");
  assert.deepEqual([other.code, JSON.parse(other.stdout).error.code], [1, "keys-unaccepted"]);
  const added = await host.json(...words, ...keys);
  assert.deepEqual([added["mcp"], added["tools"]], ["wiki-server", ["read_page"]]);
  const manifest = await Deno.readTextFile(`${host.paths.overlayCatalog}/wiki-server/mcp.yaml`);
  assert.match(manifest, /required_env:\n {2}- WIKI_TOKEN/);
  assert.match(manifest, /tree: sha256-/);

  const web = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) =>
      request.url.endsWith("/moved")
        ? Response.redirect("http://127.0.0.1:1/", 302)
        : Response.json({ server: document }),
  );
  const at = `http://127.0.0.1:${web.addr.port}`;
  const from = ["mcp", "catalog", "import", `${at}/server.json`];
  await host.json(...from, ...keys, "--name", "wiki-two");
  const model = { name: "OPENAI_API_KEY", isSecret: true };
  Object.assign(document.packages[0] ?? {}, { environmentVariables: [model] });
  const closed = await host.run(...from, "--name", "wiki-three", "--json");
  assert.deepEqual([closed.code, JSON.parse(closed.stdout).error.code], [2, "key-closed"]);
  for (const from of [`${at}/moved`, "http://example.org/server.json", "/etc", "/nowhere"]) {
    const refused = await host.run("mcp", "catalog", "import", from, "--json");
    const { error } = JSON.parse(refused.stdout);
    assert.deepEqual([refused.code, error.code], [1, "import-unreadable"], from);
  }
  await web.shutdown();
});
