/**
 * The short-lived MCP client against well-behaved and hostile servers on real unix sockets.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "cli/os/mcp_client.ts";
import { echoServer, proxyBench, type ServerBehavior, type Wire } from "tests/support/mcp_proxy.ts";

function client() {
  return systemMcpClient(openHost({ log: { program: "test", level: "error" } }));
}

/** Answers the handshake of the 2025 era; the test handles everything else. */
function server(behavior: ServerBehavior): ServerBehavior {
  return async (message: Wire, connection) => {
    if (message.method === "server/discover") {
      const error = { code: -32601, message: "Method not found" };
      return await connection.send({ jsonrpc: "2.0", id: message.id, error });
    }
    if (message.method === "initialize") return await echoServer(message, connection);
    await behavior(message, connection);
  };
}

async function call(behavior: ServerBehavior, timeoutMs?: number) {
  await using bench = await proxyBench(server(behavior));
  return await client().callTool("bench", { socket: bench.socket }, {
    tool: "look",
    arguments: { a: 1 },
    ...defined({ timeoutMs }),
  });
}

Deno.test("callTool() returns the texts and the whole result", async () => {
  const answer = await call(echoServer);
  assert.ok(answer.ok, JSON.stringify(answer));
  assert.equal(answer.value.isError, false);
  assert.match(answer.value.text, /"name":"look","arguments":\{"a":1\}/);
});

Deno.test("listTools() lists what the server has", async () => {
  await using bench = await proxyBench(server(echoServer));
  const listed = await client().listTools("bench", { socket: bench.socket });
  assert.ok(listed.ok, JSON.stringify(listed));
  assert.deepEqual(listed.value.map((tool) => tool.name), ["look", "wipe", "write"]);
});

const FAULTS: readonly {
  readonly name: string;
  readonly behavior: ServerBehavior;
  readonly code: string;
  readonly says: RegExp;
}[] = [
  {
    name: "dies during the call",
    behavior: (message, connection) =>
      message.method === "tools/call" ? connection.close() : undefined,
    code: "mcp-ended",
    says: /the server ended/,
  },
  {
    name: "exceeds the size limit",
    behavior: async (message, connection) => {
      if (message.method !== "tools/call") return;
      const piece = "x".repeat(1024 * 1024);
      for (let mib = 0; mib < 18; mib++) await connection.sendRaw(piece);
    },
    code: "mcp-ended",
    says: /more than 16777216 bytes/,
  },
  {
    name: "answers in Latin-1",
    behavior: async (message, connection) => {
      if (message.method !== "tools/call") return;
      const text = `{"jsonrpc":"2.0","id":${message.id},"result":{"text":"Grüße"}}\n`;
      await connection.sendRaw(Uint8Array.from(text, (char) => char.charCodeAt(0)));
    },
    code: "server-garbage",
    says: /an answer of the server is unusable, it is not UTF-8/,
  },
  {
    name: "answers half a message",
    behavior: async (message, connection) => {
      if (message.method === "tools/call") await connection.sendRaw('{"jsonrpc":"2.0","id\n');
    },
    code: "server-garbage",
    says: /it is not JSON/,
  },
  {
    name: "never answers",
    behavior: () => {},
    code: "mcp-timeout",
    says: /no answer in time/,
  },
  {
    name: "answers with an error",
    behavior: (message, connection) =>
      message.id === undefined ? undefined : connection.send({
        jsonrpc: "2.0",
        id: message.id,
        error: { code: -32000, message: "No" },
      }),
    code: "mcp-failed",
    says: /it answered: .*No/,
  },
];

for (const { name, behavior, code, says } of FAULTS) {
  Deno.test(`callTool() refuses with ${code} when the server ${name}`, async () => {
    // The client gives up only a silent server, after a timeout.
    const answer = await call(behavior, code === "mcp-timeout" ? 200 : undefined);
    assert.ok(!answer.ok);
    assert.equal(answer.error.code, code, answer.error.message);
    assert.match(answer.error.message, says);
  });
}

Deno.test("callTool() skips garbage in the server's output", async () => {
  const answer = await call(async (message, connection) => {
    await connection.sendRaw("log line\n[1]\n");
    await connection.sendRaw(new Uint8Array([0xff, 0xfe, 0x0a]));
    await echoServer(message, connection);
  });
  assert.ok(answer.ok, JSON.stringify(answer));
});

Deno.test("callTool() reports a missing socket or program", async () => {
  const request = { tool: "look", arguments: {} };
  const socket = await client().callTool("bench", { socket: "/nonexistent/x.sock" }, request);
  assert.ok(!socket.ok && socket.error.code === "mcp-unreachable");
  assert.match(socket.error.message, /"\/nonexistent\/x\.sock" does not exist/);
  const spec = { command: "/nonexistent/program", args: [], env: {} };
  const program = await client().callTool("bench", spec, request);
  assert.ok(!program.ok && program.error.code === "mcp-unreachable");
});
