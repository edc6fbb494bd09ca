/**
 * Our client, as the conformance suite wants to start one: the address of the suite's server is the last
 * argument. The call goes the way of `mcp call`: the client of the command line, our proxy as a program of
 * its own, a unix socket; behind that a bridge of this file speaks HTTP to the suite. Test code.
 *
 * @module
 */

import { systemMcpClient } from "core/os/mcp_client.ts";
import { openHost } from "core/os/host.ts";
import type { McpEndpoint } from "core/mcp_port.ts";
import { TREE } from "tests/support/module_graph.ts";

const address = Deno.args.at(-1) ?? "";
const root = await Deno.makeTempDir({ prefix: "fc-" });
const socket = `${root}/suite.sock`;
await Deno.mkdir(`${root}/etc/fleetctl/gate`, { recursive: true });
await Deno.writeTextFile(
  `${root}/etc/fleetctl/gate/suite.json`,
  JSON.stringify({ mcp: "suite", version: "1.0.0", rules: { test_never_there: "block" } }),
);
bridge(Deno.listen({ transport: "unix", path: socket }));

const client = systemMcpClient(openHost({ log: { program: "suite-client", level: "error" } }));
const at: McpEndpoint = {
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
  });
  if (!called.ok) console.error(called.error.message);
}
await Deno.remove(root, { recursive: true });
Deno.exit(0);

/** A value for each required argument, by its type. */
function argumentsFor(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const properties = (schema.properties ?? {}) as Record<string, { type?: unknown }>;
  const value = (type: unknown) => type === "number" || type === "integer" ? 5 : "x";
  return Object.fromEntries(
    Object.entries(properties).map(([name, { type }]) => [name, value(type)]),
  );
}

/** One HTTP client for each connection. */
function bridge(listener: Deno.UnixListener): void {
  void (async () => {
    for await (const connection of listener) void carry(connection);
  })();
}

interface Envelope {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

async function carry(connection: Deno.UnixConn): Promise<void> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
  };
  const tell = async (text: string) => {
    const bytes = new TextEncoder().encode(`${JSON.stringify(JSON.parse(text))}\n`);
    for (let sent = 0; sent < bytes.length;) {
      sent += await connection.write(bytes.subarray(sent));
    }
  };
  let rest = "";
  for await (const chunk of connection.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) void post(line, headers, tell).catch(() => {/* it is over */});
  }
}

async function post(
  line: string,
  headers: Record<string, string>,
  tell: (text: string) => Promise<void>,
): Promise<void> {
  const message = JSON.parse(line) as Envelope;
  const response = await fetch(address, {
    method: "POST",
    headers: { ...headers, ...headersFor(message) },
    body: line,
  });
  const session = response.headers.get("mcp-session-id");
  if (session !== null) headers["mcp-session-id"] = session;
  const text = await response.text();
  if ((response.headers.get("content-type") ?? "").includes("event-stream")) {
    for (const part of text.split("\n")) {
      if (part.startsWith("data:") && part.length > 6) await tell(part.slice(5));
    }
  } else if (text.trim().startsWith("{")) {
    const answer = JSON.parse(text) as { id?: unknown };
    // Over HTTP the connection says which request was refused; on a socket only the id does.
    await tell(JSON.stringify(answer.id === null ? { ...answer, id: message.id } : answer));
  }
}

/** What HTTP repeats of the newer revision's requests. */
function headersFor({ method, params = {} }: Envelope): Record<string, string> {
  const meta = (params._meta ?? {}) as Readonly<Record<string, unknown>>;
  const version = meta["io.modelcontextprotocol/protocolVersion"];
  if (typeof version !== "string") {
    return method === "initialize" ? {} : { "mcp-protocol-version": "2025-11-25" };
  }
  const { name } = params;
  return {
    "mcp-protocol-version": version,
    ...(method === undefined ? {} : { "mcp-method": method }),
    ...(typeof name === "string" ? { "mcp-name": name } : {}),
  };
}
