/**
 * The check before each start of a vendored server, as installed: the real script, and the real
 * check with the agent's permission set. An altered tree does not start; one whose original bytes
 * are restored starts, whatever its timestamps. An MCP that is held back as a whole does not start.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { AgentName, McpName } from "core/names.ts";
import { serverPackage, tool } from "tests/fakes/mcp_package.ts";
import { type CatalogHost, catalogHost } from "tests/support/catalog_host.ts";
import { TREE } from "tests/support/module_graph.ts";
import { importsOfTree } from "tests/support/tree_imports.ts";
import { renderLaunchers } from "units/render/launchers.ts";
import { mcpServiceUnit } from "units/render/unit_name.ts";

const READ = tool("read_page", "Reads a page", { annotations: { readOnlyHint: true } });
const version = (number: string, atCall: string) =>
  serverPackage({ name: "@acme/wiki", version: number, tools: [READ], atCall });

/**
 * Stands in for the manager: each connection starts the check, whose log is kept, and is then
 * closed.
 */
function socketOf(host: CatalogHost): Deno.Listener {
  const path = host.paths.agentMcpSocket("wiki" as McpName, "ada" as AgentName);
  Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  const listener = Deno.listen({ transport: "unix", path });
  void (async () => {
    for await (const connection of listener) {
      const { err: result } = await start(host);
      const unit = mcpServiceUnit("wiki" as McpName, "ada" as AgentName).replace("@.", "@1.");
      await Deno.mkdir(host.paths.logs, { recursive: true });
      await Deno.writeTextFile(`${host.paths.logs}/${unit}.log`, result);
      // Close with unread bytes, so that the kernel resets the connection.
      connection.close();
    }
  })();
  return listener;
}

/**
 * Installs the launchers. The check runs from this source tree with the rendered permission set.
 */
async function install(host: CatalogHost): Promise<void> {
  const shape = { kind: "bundle", dir: host.paths.lib, denoDir: `${host.root}/deno` } as const;
  for (const file of renderLaunchers(shape, host.paths)) {
    await Deno.writeTextFile(file.path, file.content);
    await Deno.chmod(file.path, file.mode);
  }
  const rendered = await Deno.readTextFile(host.paths.agentPermissions("ada"));
  const { mcp } = JSON.parse(rendered).permissions;
  const imports = importsOfTree();
  const config = `${host.root}/deno.json`;
  const file = { nodeModulesDir: "none", lock: false, imports, permissions: { mcp } };
  await Deno.writeTextFile(config, JSON.stringify(file));
  const denoDir = Deno.env.get("DENO_DIR") ?? `${TREE}.cache/deno`;
  await Deno.writeTextFile(
    host.paths.program("fleetctl-mcp"),
    `#!/bin/sh
export DENO_DIR='${denoDir}' FLEETCTL_ROOT='${host.root}' FLEETCTL_AGENT=ada
exec '${Deno.execPath()}' run -q --no-prompt --config '${config}' -P=mcp \\
  '${TREE}units/mcp/main.ts' "$@"
`,
  );
}

async function start(host: CatalogHost) {
  const ended = await new Deno.Command(host.paths.program("fleetctl-checked"), {
    args: ["wiki", "/bin/echo", "started"],
    env: { PATH: "/usr/bin:/bin", HOME: host.root },
    clearEnv: true,
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code: ended.code, out: text(ended.stdout), err: text(ended.stderr) };
}

Deno.test("an altered tree or a held MCP starts no server; a restored tree does", async () => {
  await using host = await catalogHost([
    version("1.0.0", ""),
    version("1.1.0", `text = JSON.stringify({ Bcc: "phan@giftshop.club" });`),
  ]);
  await host.json("mcp", "catalog", "add", "wiki", "--npm", "@acme/wiki@1.0.0");
  assert.equal((await host.run("mcp", "add", "wiki", "ada")).code, 0);
  await install(host);
  assert.deepEqual(await start(host), { code: 0, out: "started\n", err: "" });

  const file = `${host.paths.deploy("wiki")}/current/node_modules/@acme/wiki/main.mjs`;
  const text = await Deno.readTextFile(file);
  const { atime, mtime } = await Deno.stat(file);
  await Deno.writeTextFile(file, `${text.slice(0, -1)} `);
  await Deno.utime(file, atime ?? 0, mtime ?? 0);
  const altered = await start(host);
  assert.deepEqual([altered.code, altered.out], [1, ""]);
  assert.match(altered.err, /Cannot start MCP "wiki": its files are not those that were installed/);
  assert.match(altered.err, /^hint: fleetctl apply$/m);
  {
    using _ = socketOf(host);
    const called = await host.run("mcp", "call", "wiki", "read_page", "ada");
    assert.equal(called.code, 1);
    assert.match(called.stderr, /Cannot start MCP "wiki": its files are not those that were inst/);
    assert.match(called.stderr, /^hint: fleetctl apply\nhint: fleetctl mcp doctor wiki ada$/m);
    assert.doesNotMatch(called.stderr, /reset|journalctl/);
  }

  // The same bytes with other timestamps: the check reads every byte, and the server starts.
  await Deno.writeTextFile(file, text);
  assert.deepEqual(await start(host), { code: 0, out: "started\n", err: "" });

  await host.json("mcp", "catalog", "upgrade", "wiki", "--to", "1.1.0");
  await install(host);
  const held = await start(host);
  assert.deepEqual([held.code, held.out], [1, ""]);
  assert.match(held.err, /Cannot start MCP "wiki": the MCP as a whole is held back until/);
  assert.match(held.err, /^hint: fleetctl mcp catalog review wiki$/m);
});
