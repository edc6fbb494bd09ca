/**
 * The product's client as a program for the conformance suite; the last argument is the address of
 * the suite's server. The call takes the path of `mcp call`: the command-line client, the proxy as
 * a separate program, a unix socket, and then a bridge to HTTP. With `url` before the address, it
 * takes the path of an MCP by URL, with the product's own HTTP. Test code.
 *
 * @module
 */

import { systemMcpClient } from "cli/os/mcp_client.ts";
import { openMcpHttp } from "core/os/mcp_http.ts";
import { openHost } from "core/os/host.ts";
import type { McpEndpoint } from "core/ports/mcp_client.ts";
import { TREE } from "tests/support/module_graph.ts";

const address = Deno.args.at(-1) ?? "";
const host = openHost({ log: { program: "suite-client", level: "error" } });
const root = await Deno.makeTempDir({ prefix: "fc-" });
const socket = `${root}/suite.sock`;
await Deno.mkdir(`${root}/etc/fleetctl/gate`, { recursive: true });
await Deno.writeTextFile(
  `${root}/etc/fleetctl/gate/suite.json`,
  JSON.stringify({ mcp: "suite", version: "1.0.0", rules: { test_never_there: "block" } }),
);
bridge(Deno.listen({ transport: "unix", path: socket }));

const client = systemMcpClient(host);
const at: McpEndpoint = Deno.args.includes("url")
  ? { http: { url: address, headers: {}, secrets: [] } }
  : {
    command: Deno.execPath(),
    args: ["run", "-q", "-A", "--no-check", `${TREE}units/mcp/main.ts`, "proxy", "suite"]
      .concat("--socket", socket),
    env: { ...Deno.env.toObject(), FLEETCTL_ROOT: root, HOME: root },
  };
const listed = await client.listTools("suite", at);
if (!listed.ok) throw new Error(listed.error.message);
for (const tool of listed.value) {
  const called = await client.callTool("suite", at, {
    tool: tool.name,
    arguments: argumentsFor(tool.inputSchema),
    timeoutMs: 10_000,
    // Accepts and leaves every field at its default.
    answer: () => Promise.resolve({ action: "accept", values: {} }),
  });
  if (!called.ok) console.error(called.error.message);
}
await Deno.remove(root, { recursive: true });
Deno.exit(0);

/** Returns a value for each required argument, by its type. */
function argumentsFor(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const properties = (schema.properties ?? {}) as Record<string, { type?: unknown }>;
  const value = (type: unknown) => type === "number" || type === "integer" ? 5 : "x";
  return Object.fromEntries(
    Object.entries(properties).map(([name, { type }]) => [name, value(type)]),
  );
}

/** Serves each connection with a separate HTTP client. */
function bridge(listener: Deno.UnixListener): void {
  void (async () => {
    for await (const connection of listener) {
      const stream = openMcpHttp({ url: address, headers: {}, secrets: [] }, host);
      void connection.readable.pipeTo(stream.writable).catch(() => {/* has ended */});
      void stream.readable.pipeTo(connection.writable).catch(() => {/* has ended */});
    }
  })();
}
