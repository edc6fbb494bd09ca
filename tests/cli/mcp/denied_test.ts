/**
 * A server under its own permission set. A host, a file and a variable that its manifest does not
 * grant are refused, and what it grants works. The operator reads each denial in one line.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readCatalog } from "core/catalog/catalog.ts";
import { deniedIn } from "core/catalog/denied.ts";
import type { AgentName, McpName } from "core/names.ts";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "cli/os/mcp_client.ts";
import { serverPackage, tool } from "tests/fakes/mcp_package.ts";
import { type CatalogHost, catalogHost } from "tests/support/catalog_host.ts";
import { proxyBench } from "tests/support/mcp_proxy.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import { closedPaths } from "units/render/mcp/closed_paths.ts";
import { serverCommand } from "units/render/mcp/command.ts";

const ADA = "ada" as AgentName;
const REACH = serverPackage({
  name: "@acme/reach",
  version: "1.0.0",
  tools: [tool("fetch", "Fetches"), tool("file", "Opens"), tool("variable", "Names")],
  atCall: `
  if (name === "fetch") text = await (await fetch(args.text)).text();
  if (name === "file") text = (await import("node:fs")).readFileSync(args.text, "utf8");
  if (name === "variable") text = String(process.env[args.text]);`,
});

async function call(host: CatalogHost, name: string, text: string) {
  const catalog = await readCatalog(
    openHost({ log: { program: "t", level: "error" } }),
    host.paths,
  );
  assert.ok(catalog.ok);
  const manifest = catalog.value.entries.get("reach" as McpName);
  assert.ok(manifest !== undefined);
  const place = { paths: host.paths, agent: ADA, workdir: host.root };
  const closed = closedPaths(manifest, {
    paths: host.paths,
    agent: ADA,
    runtimes: shippedDefinitions().values(),
    providers: [],
  });
  const [command = "", ...args] = serverCommand(manifest, { ...place, closed }).slice(2);
  await Deno.mkdir(host.paths.home(ADA), { recursive: true });
  const client = systemMcpClient(openHost({ log: { program: "t", level: "error" } }));
  const answer = await client.callTool("reach", {
    command,
    args,
    env: { PATH: "/usr/bin:/bin", HOME: host.paths.home(ADA), REACH_TOKEN: "t", CANARY: "canary" },
  }, { tool: name, arguments: { text } });
  assert.ok(answer.ok, JSON.stringify(answer));
  const lines = deniedIn({ mcp: "reach", version: "1.0.0" }, answer.value.text).map(({ message }) =>
    message
  );
  return { ...answer.value, lines };
}

/** Returns the real server's answer through a proxy: the text for the model, and the log. */
async function asTheModelReads(result: unknown): Promise<string> {
  await using bench = await proxyBench(async (message, connection) => {
    await connection.send({ jsonrpc: "2.0", id: message.id, result });
  });
  const answer = await bench.ask(1, "tools/call", { name: "fetch", arguments: {} });
  const [line, ...more] = bench.log.of("server_denied");
  assert.deepEqual([line?.level, more.length], ["warning", 0]);
  return answer.result.content.map(({ text }: { text: string }) => text).join("\n");
}

Deno.test("a server reaches the host, file and variable of its grant, and no others", async () => {
  const granted = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("hello"),
  );
  let reached = 0;
  const canary = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    reached++;
    return new Response("");
  });
  await using host = await catalogHost([REACH]);
  const at = (server: { readonly addr: Deno.NetAddr }) => `127.0.0.1:${server.addr.port}`;
  const grants = [`net=${at(granted)}`, "read={home}/notes", "read={home}/.fleetctl"].flatMap((
    one,
  ) => ["--grant", one]);
  await host.json(
    "mcp",
    "catalog",
    "add",
    "reach",
    "--npm",
    "@acme/reach@1.0.0",
    "--env",
    "REACH_TOKEN",
    ...grants,
  );
  assert.equal((await host.run("mcp", "add", "reach", "ada", "--force")).code, 0);
  await Deno.mkdir(`${host.paths.home(ADA)}/notes`, { recursive: true });
  await Deno.writeTextFile(`${host.paths.home(ADA)}/notes/a.txt`, "a note");
  await Deno.writeTextFile(`${host.paths.home(ADA)}/secret.txt`, "a secret");
  await Deno.mkdir(host.paths.dialState(ADA), { recursive: true });
  await Deno.writeTextFile(`${host.paths.dialState(ADA)}/dial.key`, "a key");
  await Deno.writeTextFile(`${host.paths.home(ADA)}/.fleetctl/plain`, "plain");

  assert.equal((await call(host, "fetch", `http://${at(granted)}/`)).text, "hello");
  assert.equal((await call(host, "file", `${host.paths.home(ADA)}/notes/a.txt`)).text, "a note");
  assert.equal((await call(host, "file", `${host.paths.home(ADA)}/.fleetctl/plain`)).text, "plain");
  const closed = await call(host, "file", `${host.paths.dialState(ADA)}/dial.key`);
  assert.equal(closed.isError, true);
  assert.doesNotMatch(closed.text, /a key/);
  assert.equal((await call(host, "variable", "REACH_TOKEN")).text, "t");

  const net = await call(host, "fetch", `http://${at(canary)}/`);
  assert.equal(net.isError, true);
  assert.deepEqual(net.lines, [
    `Cannot let MCP "reach" use net "${at(canary)}": its manifest does not grant it`,
  ]);
  assert.equal(reached, 0, "the host that was not granted saw nothing");
  assert.match(
    await asTheModelReads(net.result),
    new RegExp(
      `Cannot let MCP "bench" use net "${at(canary)}": its manifest does not grant it\\. An ` +
        `operator can: fleetctl mcp catalog upgrade bench --to 1\\.0\\.0 --grant`,
    ),
  );
  const file = await call(host, "file", `${host.paths.home(ADA)}/secret.txt`);
  assert.equal(file.isError, true);
  assert.equal(file.lines.length, 1);
  // A grant applies to every agent, so it names no agent's home.
  const [denial] = deniedIn(
    { mcp: "reach", version: "1.0.0", home: host.paths.home(ADA) },
    file.text,
  );
  assert.deepEqual(denial?.hints, [
    "fleetctl mcp catalog upgrade reach --to 1.0.0 --grant 'read={home}/secret.txt'",
  ]);
  assert.equal((await call(host, "variable", "CANARY")).text, "undefined");
  await Promise.all([granted.shutdown(), canary.shutdown()]);
});
