/**
 * Which tools of a new entry need a human's approval, and an operator's marks for them, from the
 * first version through an upgrade and its review.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readCatalog } from "core/catalog/catalog.ts";
import { parseSettings } from "core/catalog/settings.ts";
import { parseYaml } from "core/text/yaml.ts";
import type { McpName } from "core/names.ts";
import { openHost } from "core/os/host.ts";
import { serverPackage, tool } from "tests/fakes/mcp_package.ts";
import { type CatalogHost, catalogHost } from "tests/support/catalog_host.ts";

const READ = tool("read_page", "Reads a page", { annotations: { readOnlyHint: true } });
const WRITE = tool("write_page", "Writes a page");
const WIPE = tool("wipe_page", "Wipes a page", { annotations: { destructiveHint: true } });
const SEND = tool("send_page", "Sends a page");
const version = (number: string, ...tools: readonly ReturnType<typeof tool>[]) =>
  serverPackage({ name: "@acme/wiki", version: number, tools });
const ADD = ["mcp", "catalog", "add", "wiki", "--npm", "@acme/wiki@1.0.0"];

async function manifestOf(host: CatalogHost): Promise<Record<string, unknown>> {
  const file = `${host.paths.overlayCatalog}/wiki/mcp.yaml`;
  const parsed = parseYaml(await Deno.readTextFile(file), file);
  assert.ok(parsed.ok);
  return parsed.value.value as Record<string, unknown>;
}

/** Returns the entry's risks as the catalog gives them to the gate. */
async function risks(host: CatalogHost): Promise<Record<string, string>> {
  const ports = openHost({ log: { program: "t", level: "error" } });
  const catalog = await readCatalog(ports, host.paths);
  assert.ok(catalog.ok);
  return Object.fromEntries(catalog.value.entries.get("wiki" as McpName)?.risk ?? []);
}

Deno.test("a tool not known as read-only asks; the report says how to change that", async () => {
  await using host = await catalogHost([version("1.0.0", READ, WRITE, WIPE, SEND)]);
  const ended = await host.run(...ADD, "--risk", "wipe_page=block", "--risk", "send_page=allow");
  assert.equal(ended.code, 0, ended.stderr);
  assert.match(
    ended.stdout,
    /^marks {2}these tools ask a human before each call:\n {2}ask {2}write_page: /m,
  );
  assert.doesNotMatch(ended.stdout, /ask {2}(read_page|wipe_page|send_page)/);
  assert.deepEqual(await risks(host), { wipe_page: "block", write_page: "ask" });

  const hint = /let one run without asking: fleetctl (.*)$/m.exec(ended.stdout)?.[1] ?? "";
  const accepted = await host.run(...hint.split(" "));
  assert.equal(accepted.code, 0, accepted.stderr);
  assert.match(accepted.stdout, /^marked {2}wiki write_page: allow$/m);
  assert.deepEqual(await risks(host), { wipe_page: "block" });
});

Deno.test("a mark of a tool that the server does not list is refused", async () => {
  await using host = await catalogHost([version("1.0.0", READ)]);
  const typo = await host.run(...ADD, "--risk", "red_page=ask");
  assert.equal(typo.code, 2);
  assert.match(
    typo.stderr,
    /the server lists no such tool, must be one of its tools\n {2}read_page$/m,
  );
  await assert.rejects(Deno.stat(`${host.paths.overlayCatalog}/wiki`), Deno.errors.NotFound);
  assert.equal((await host.run(...ADD)).code, 0);
  const review = ["mcp", "catalog", "review", "wiki", "--risk"];
  assert.equal((await host.run(...review, "red_page=ask")).code, 2);
  assert.equal((await host.run(...review, "read_page=block")).code, 0);
  assert.deepEqual(await risks(host), { read_page: "block" });
});

Deno.test("an upgrade keeps marks, grants and variables; a review marks new tools", async () => {
  await using host = await catalogHost([
    version("1.0.0", READ, WRITE, WIPE),
    version("1.1.0", READ, WRITE, WIPE, SEND),
  ]);
  const words = ["--grant", "net=wiki.example:443", "--set-env", "WIKI_DIR={home}/wiki"];
  await host.json(...ADD, ...words, "--risk", "wipe_page=block", "--risk", "write_page=allow");
  const before = await manifestOf(host);
  assert.deepEqual(before["environment"], { WIKI_DIR: "{home}/wiki" });

  const upgraded = await host.run("mcp", "catalog", "upgrade", "wiki", "--to", "1.1.0");
  assert.equal(upgraded.code, 0, upgraded.stderr);
  assert.match(upgraded.stdout, /^tools {3}1 changes$/m);
  assert.match(
    upgraded.stdout,
    /mark {8}send_page: once accepted, asks a human before each call: does not claim/,
  );
  const after = await manifestOf(host);
  for (const key of ["environment", "permissions", "tools"]) {
    assert.deepEqual(after[key], before[key], key);
  }
  assert.deepEqual(await risks(host), { wipe_page: "block", send_page: "block" });

  const accept = /^accept with: fleetctl (.*)$/m.exec(upgraded.stdout)?.[1] ?? "";
  const accepted = await host.run(...accept.split(" "));
  assert.equal(accepted.code, 0, accepted.stderr);
  assert.match(accepted.stdout, /ask {2}send_page: does not claim to be read-only/);
  assert.deepEqual(await risks(host), { wipe_page: "block", send_page: "ask" });
});

Deno.test("the last lines of a server that does not start are shown; every tool asks", async () => {
  await using host = await catalogHost([serverPackage({
    name: "@acme/wiki",
    version: "1.0.0",
    tools: [WRITE],
    atStart: `console.error("\\u001b[31mno\\u001b[0m colors");
throw new Error("Could not locate the bindings file. Tried: wiki_store.node");`,
  })]);
  const ended = await host.run(...ADD);
  assert.equal(ended.code, 0, ended.stderr);
  assert.match(
    ended.stderr,
    /Cannot try out MCP "wiki": the server ended; it needs a native addon/,
  );
  assert.match(ended.stderr, /\(wiki_store\.node\)/);
  assert.match(ended.stderr, /^ {2}\\u\{1b\}\[31mno\\u\{1b\}\[0m colors$/m);
  // deno-lint-ignore no-control-regex -- an escape of a terminal is what must not be there
  assert.doesNotMatch(ended.stdout + ended.stderr, /\u001b/);
  assert.match(ended.stdout, /ask {2}every tool: its tools are unknown/);
  assert.deepEqual(await risks(host), { "*": "ask" });
  const allowed = await host.run("mcp", "catalog", "review", "wiki", "--risk", "*=allow");
  assert.equal(allowed.code, 0, allowed.stderr);
  assert.deepEqual(await risks(host), {});
});

Deno.test("once a version can be tried out, its tools get marks beside '*'", async () => {
  const mute = serverPackage({
    name: "@acme/wiki",
    version: "1.0.0",
    tools: [WRITE],
    atStart: "process.exit(3);",
  });
  await using host = await catalogHost([mute, version("1.1.0", READ, WRITE)]);
  assert.equal((await host.run(...ADD)).code, 0);
  const upgraded = await host.json("mcp", "catalog", "upgrade", "wiki", "--to", "1.1.0");
  const { hash } = upgraded["held"] as { hash: string };
  const accepted = await host.run("mcp", "catalog", "review", "wiki", "--accept", hash);
  assert.match(
    accepted.stdout,
    /^every tool still asks a human; .*review wiki --risk '\*=allow'$/m,
  );
  assert.deepEqual(await risks(host), { "*": "ask", write_page: "ask" });
  await host.run("mcp", "catalog", "review", "wiki", "--risk", "*=allow");
  assert.deepEqual(await risks(host), { write_page: "ask" });
});

Deno.test("--set-env refuses variables that look like a key or that fleetctl sets", async () => {
  await using host = await catalogHost([version("1.0.0", READ)]);
  const words = ["WIKI_TOKEN=x", "FLEETCTL_ROOT=/", "PATH=/x", "no", "A B=c", "A="];
  const names = ["__proto__=x", "constructor=x", "valueOf=x"];
  const links = ["DB=postgres://u:x@db.example/y", "DB=a mysql+tcp://:x@h", "GIT=https://x@h/y"];
  for (const word of [...words, ...names, ...links]) {
    const ended = await host.run(...ADD, "--set-env", word, "--json");
    const { error } = JSON.parse(ended.stdout);
    assert.deepEqual([error.code, ended.code], ["setting-invalid", 2], word);
    assert.equal(error.hints.length, 1);
    assert.ok(!/=x|x@/.test(ended.stdout), "no message contains a value");
  }
  const link = await host.run(...ADD, "--arg", "db=postgres://u:x@db.example/y", "--json");
  assert.deepEqual([link.code, JSON.parse(link.stdout).error.code], [2, "argument-secret"]);
  assert.ok(!link.stdout.includes("x@"));
  for (const fine of ["G=ssh://git@host/x", "U=https://a.example:443/@acme/x", "M=a@b.example"]) {
    const parsed = parseSettings([fine]);
    assert.ok(parsed.ok, fine);
  }
});

Deno.test("no server receives a key of fleetctl or of the agent's model", async () => {
  await using host = await catalogHost([version("1.0.0", READ)]);
  for (
    const key of [
      "OPENAI_API_KEY",
      "ANTHROPIC_API_KEY",
      "CLAUDE_CODE_OAUTH_TOKEN",
      "FLEETCTL_MODEL_KEY",
      "FLEETCTL_HOST_OP_SECRET",
      "WEBVIEW_HMAC_KEY",
    ]
  ) {
    for (const words of [["--env", key], ["--grant", `env=${key}`]]) {
      const ended = await host.run(...ADD, ...words, "--json");
      assert.deepEqual([ended.code, JSON.parse(ended.stdout).error.code], [2, "key-closed"], key);
    }
  }
  const words = ["--env", "WIKI_TOKEN", "--set-env", "WIKI_DIR={home}"];
  const added = await host.run(...ADD, ...words);
  assert.match(added.stdout, /^sees {3}WIKI_TOKEN: a secret of its agent, required$/m);
  assert.match(added.stdout, /^sees {3}WIKI_DIR: set to "\{home\}"$/m);
  const again = ["mcp", "catalog", "upgrade", "wiki", "--to", "1.0.0", "--json"];
  const granted = await host.run(...again, "--grant", "env=OPENAI_API_KEY");
  assert.deepEqual([granted.code, JSON.parse(granted.stdout).error.code], [2, "key-closed"]);
});
