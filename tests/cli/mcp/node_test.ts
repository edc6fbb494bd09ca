/**
 * A server under Node: its sandbox contains what the manifest grants, and nothing else. Real Node,
 * under bubblewrap.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readCatalog } from "core/catalog/catalog.ts";
import type { AgentName, McpName } from "core/names.ts";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "cli/os/mcp_client.ts";
import { serverPackage, tool } from "tests/fakes/mcp_package.ts";
import { type CatalogHost, catalogHost } from "tests/support/catalog_host.ts";
import { serverCommand } from "units/render/mcp/command.ts";

const ADA = "ada" as AgentName;
const READ = { annotations: { readOnlyHint: true } };
const REACH = serverPackage({
  name: "@acme/reach",
  version: "1.0.0",
  tools: ["engine", "read", "list", "host", "variable"].map((name) => tool(name, name, READ)),
  atStart: `import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { execFileSync } from "node:child_process";`,
  atCall: `
  if (name === "engine") text = typeof Deno + " " + execFileSync("/bin/echo", ["child"]);
  if (name === "read") text = readFileSync(args.text, "utf8");
  if (name === "list") text = readdirSync(args.text).join(" ");
  if (name === "variable") text = String(process.env[args.text]);
  if (name === "host") text = await new Promise((done) => {
    const socket = connect(Number(args.text), "127.0.0.1", () => {
      socket.destroy();
      done("there");
    });
    socket.on("error", (error) => done(error.code));
  });`,
});
const ADD = ["mcp", "catalog", "add", "reach", "--npm", "@acme/reach@1.0.0", "--engine", "node"];

/** Starts the server like its unit, and sends it requests. */
async function asking(host: CatalogHost) {
  const ports = openHost({ log: { program: "t", level: "error" } });
  const catalog = await readCatalog(ports, host.paths);
  assert.ok(catalog.ok);
  const manifest = catalog.value.entries.get("reach" as McpName);
  assert.ok(manifest !== undefined);
  const home = host.paths.home(ADA);
  const place = { paths: host.paths, agent: ADA, workdir: home, closed: [] };
  // Skip the check of the tree and the choice of variables, which have their own tests.
  const [command = "", ...args] = serverCommand(manifest, place).slice(4);
  const env = { PATH: "/usr/bin:/bin", HOME: home, NO_COLOR: "1" };
  return async (name: string, text: string) => {
    const call = { tool: name, arguments: { text } };
    const answer = await systemMcpClient(ports).callTool("reach", { command, args, env }, call);
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.value.text;
  };
}

Deno.test("a server under Node reaches no host and no file that is not granted", async () => {
  await using host = await catalogHost([REACH]);
  const home = host.paths.home("ada");
  await Deno.mkdir(`${home}/notes`, { recursive: true });
  await Deno.writeTextFile(`${home}/notes/a`, "granted");
  await Deno.writeTextFile(`${home}/secret`, "never");
  const added = await host.run(...ADD, "--grant", "read={home}/notes");
  assert.equal(added.code, 0, added.stderr);
  assert.match(added.stdout, /^tools {2}5: /m, "it was tried out in the same sandbox");
  assert.equal((await host.run("mcp", "add", "reach", "ada")).code, 0);
  const { port } = new URL(host.registry.url);
  const ask = await asking(host);
  assert.equal(await ask("engine", ""), "undefined child\n");
  assert.equal(await ask("read", `${home}/notes/a`), "granted");
  assert.match(await ask("read", `${home}/secret`), /ENOENT/);
  assert.equal(await ask("list", home), "notes");
  assert.match(await ask("list", host.paths.etc), /ENOENT/);
  assert.match(await ask("read", "/etc/shadow"), /ENOENT/);
  assert.equal(await ask("host", port), "ECONNREFUSED");

  const upgrade = ["mcp", "catalog", "upgrade", "reach", "--to", "1.0.0"];
  const single = await host.run(...upgrade, "--grant", "net=a.example:443");
  assert.equal(single.code, 1);
  assert.match(single.stderr, /a server under Node cannot be limited to single hosts/);
  assert.equal((await host.run(...upgrade, "--grant", "net=*")).code, 0);
  assert.equal(await (await asking(host))("host", port), "there");
});

Deno.test("only an npm package can choose its engine", async () => {
  await using host = await catalogHost([REACH]);
  for (const source of [["--url", "https://x.example/mcp"], ["--uvx", "x==1.0.0"]]) {
    const words = ["mcp", "catalog", "add", "reach", ...source, "--engine", "node", "--json"];
    const ended = await host.run(...words);
    assert.deepEqual([ended.code, JSON.parse(ended.stdout).error.code], [2, "options-invalid"]);
  }
  const deno = await host.run(...ADD.slice(0, -1), "deno");
  assert.equal(deno.code, 0, deno.stderr);
  const text = await Deno.readTextFile(`${host.paths.overlayCatalog}/reach/mcp.yaml`);
  assert.doesNotMatch(text, /engine/);
});
