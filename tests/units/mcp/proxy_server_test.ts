/**
 * The proxy and its server: one that dies, hangs, floods, prints garbage or is idle.
 *
 * @module
 */

import assert from "node:assert/strict";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import { echoServer, proxyBench, type ServerBehavior } from "tests/support/mcp_proxy.ts";
import { call, CHECKS, INITIALIZE, received } from "tests/units/mcp/proxy_calls.ts";

Deno.test(
  "runProxy() answers every open call when the server dies, and starts the next one",
  CHECKS,
  async () => {
    await using bench = await proxyBench((message, connection) => {
      if (connection.index > 1) return echoServer(message, connection);
      if (connection.received.length === 2) connection.close();
    });
    await bench.send(call(1, "look"));
    await bench.send(call(2, "look"));
    for (const id of [1, 2]) {
      const answer = await bench.next();
      assert.equal(answer.id, id);
      assert.equal(answer.error.code, -32000);
      assert.equal(answer.error.data.code, "mcp-ended");
      assert.match(
        answer.error.message,
        /server is gone, it ended; the call may have taken effect/,
      );
    }
    assert.ok((await bench.ask(3, "tools/call", { name: "look" })).result);
    assert.equal(bench.connections.length, 2);
  },
);

Deno.test(
  "runProxy() reports how much of an answer came before the server died",
  CHECKS,
  async () => {
    await using bench = await proxyBench(async (_, connection) => {
      await connection.sendRaw('{"jsonrpc":"2.0","id":1,"result":{"con');
      connection.close();
    });
    const answer = await bench.ask(1, "tools/call", { name: "look" });
    assert.match(answer.error.message, /ended after 38 bytes of an unfinished message/);
  },
);

Deno.test(
  "runProxy() replays the handshake to a new server, unseen by the client",
  CHECKS,
  async () => {
    await using bench = await proxyBench(async (message, connection) => {
      if (connection.index === 1 && message.method === "tools/call") return connection.close();
      await echoServer(message, connection);
    });
    assert.ok((await bench.ask(0, "initialize", INITIALIZE)).result);
    await bench.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    assert.ok((await bench.ask(1, "tools/call", { name: "look" })).error);
    const answer = await bench.ask(2, "tools/call", { name: "look" });
    assert.ok(answer.result, JSON.stringify(answer));
    assert.deepEqual(
      bench.connections[1]?.received.map((message) => message.method),
      ["initialize", "notifications/initialized", "tools/call"],
    );
    assert.deepEqual(bench.connections[1]?.received[0].params, INITIALIZE);
  },
);

const BAD_REPLAYS: readonly { name: string; behavior: ServerBehavior; says: RegExp }[] = [
  {
    name: "refuses it",
    behavior: (message, connection) =>
      connection.send({ jsonrpc: "2.0", id: message.id, error: { code: 1, message: "no" } }),
    says: /refused the handshake/,
  },
  {
    name: "speaks another version",
    behavior: (message, connection) =>
      connection.send({ jsonrpc: "2.0", id: message.id, result: { protocolVersion: "1999" } }),
    says: /another protocol version/,
  },
  { name: "dies", behavior: (_, connection) => connection.close(), says: /it ended/ },
];

for (const { name, behavior, says } of BAD_REPLAYS) {
  Deno.test(
    `runProxy() answers the call when the new server ${name} at the replay`,
    CHECKS,
    async () => {
      await using bench = await proxyBench(async (message, connection) => {
        if (connection.index !== 1) return await behavior(message, connection);
        if (message.method === "tools/call") return connection.close();
        await echoServer(message, connection);
      });
      await bench.ask(0, "initialize", INITIALIZE);
      await bench.ask(1, "tools/call", { name: "look" });
      const answer = await bench.ask(2, "tools/call", { name: "look" });
      assert.match(answer.error.message, says);
      assert.equal(answer.error.data.code, "mcp-ended");
    },
  );
}

Deno.test("runProxy() gives up a replay that is never answered", CHECKS, async () => {
  await using bench = await proxyBench(async (message, connection) => {
    if (connection.index !== 1) return;
    if (message.method === "tools/call") return connection.close();
    await echoServer(message, connection);
  });
  await bench.ask(0, "initialize", INITIALIZE);
  await bench.ask(1, "tools/call", { name: "look" });
  const answer = bench.ask(2, "tools/call", { name: "look" });
  await bench.connected(2);
  await received(bench, 2, 1);
  await bench.clock.advance(MCP_LIMITS.handshakeSeconds * 1000);
  assert.match((await answer).error.message, /no answer within 30 s/);
});

Deno.test("runProxy() passes an answer of 5 MB whole", CHECKS, async () => {
  const text = "x".repeat(5 * 1024 * 1024);
  await using bench = await proxyBench((message, connection) =>
    connection.send({ jsonrpc: "2.0", id: message.id, result: { content: [{ text }] } })
  );
  const answer = await bench.ask(1, "tools/call", { name: "look" });
  assert.equal(answer.result.content[0].text.length, text.length);
});

Deno.test(
  "runProxy() answers the call whose answer is past the limit, and continues",
  CHECKS,
  async () => {
    await using bench = await proxyBench(async (message, connection) => {
      if (message.id !== 1) return await echoServer(message, connection);
      const piece = "x".repeat(1024 * 1024);
      await connection.sendRaw('{"result":{"id":7,"content":["');
      for (let mib = 0; mib < 20; mib++) await connection.sendRaw(piece);
      await connection.sendRaw('"]},"jsonrpc":"2.0","id":1}\n');
    });
    const answer = await bench.ask(1, "tools/call", { name: "look" });
    assert.equal(answer.error.data.code, "answer-too-large");
    assert.match(answer.error.message, /has 2097\d{4} bytes, must have at most 16777216/);
    assert.ok((await bench.ask(2, "tools/call", { name: "look" })).result);
  },
);

Deno.test(
  "runProxy() answers a client's message past the limit, and continues",
  CHECKS,
  async () => {
    await using bench = await proxyBench();
    const piece = "x".repeat(1024 * 1024);
    await bench.sendRaw('{"jsonrpc":"2.0","method":"tools/call","params":{"name":"look","a":"');
    for (let mib = 0; mib < 17; mib++) await bench.sendRaw(piece);
    void bench.sendRaw('"},"id":"big"}\n');
    const answer = await bench.next();
    assert.equal(answer.id, "big");
    assert.equal(answer.error.data.code, "message-too-large");
    assert.ok((await bench.ask(2, "tools/call", { name: "look" })).result);
  },
);

Deno.test("runProxy() drops what a server prints that is not a message", CHECKS, async () => {
  await using bench = await proxyBench(async (message, connection) => {
    await connection.sendRaw("starting up...\n");
    await connection.sendRaw(new Uint8Array([0x7b, 0xff, 0xfe, 0x7d, 0x0a]));
    await connection.sendRaw("[1,2]\n\n");
    await connection.send({ jsonrpc: "2.0", id: 777, result: {} });
    await echoServer(message, connection);
  });
  assert.ok((await bench.ask(1, "tools/call", { name: "look" })).result);
  assert.equal(bench.log.lines.filter((line) => line.event === "server_garbage").length, 3);
});

Deno.test(
  "runProxy() answers a call that the server never answers, then starts another server",
  CHECKS,
  async () => {
    await using bench = await proxyBench((message, connection) =>
      connection.index === 1 ? undefined : echoServer(message, connection)
    );
    const answer = bench.ask(1, "tools/call", { name: "look" });
    await received(bench, 1, 1);
    await bench.clock.advance(MCP_LIMITS.callSeconds * 1000);
    assert.equal((await answer).error.data.code, "mcp-timeout");
    assert.ok((await bench.ask(2, "tools/call", { name: "look" })).result);
    assert.equal(bench.connections.length, 2);
  },
);

Deno.test(
  "runProxy() does not count the time of a person whom the server asks",
  CHECKS,
  async () => {
    await using bench = await proxyBench((message, connection) =>
      message.method === "tools/call"
        ? connection.send({ jsonrpc: "2.0", id: "q", method: "elicitation/create", params: {} })
        : message.id === "q"
        ? connection.send({ jsonrpc: "2.0", id: 1, result: { content: [] } })
        : echoServer(message, connection)
    );
    void bench.send(call(1, "look"));
    assert.equal((await bench.next()).method, "elicitation/create");
    await bench.clock.advance(3 * MCP_LIMITS.callSeconds * 1000);
    void bench.send({ jsonrpc: "2.0", id: "q", result: { action: "accept" } });
    assert.deepEqual(await bench.next(), { jsonrpc: "2.0", id: 1, result: { content: [] } });
  },
);

Deno.test(
  "runProxy() lets a call take longer while the server reports progress",
  CHECKS,
  async () => {
    await using bench = await proxyBench(async (message, connection) => {
      if (message.method !== "tools/call") return;
      const params = { progressToken: "p", progress: 1 };
      await connection.send({ jsonrpc: "2.0", method: "notifications/progress", params });
    });
    await bench.send({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "look", _meta: { progressToken: "p" } },
    });
    await received(bench, 1, 1);
    await bench.clock.advance((MCP_LIMITS.callSeconds - 1) * 1000);
    await bench.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "look" } });
    assert.equal((await bench.next()).method, "notifications/progress");
    assert.equal((await bench.next()).method, "notifications/progress");
    await bench.clock.advance(2_000);
    await bench.connections[0]?.send({ jsonrpc: "2.0", id: 1, result: {} });
    assert.deepEqual((await bench.next()).result, {});
  },
);

Deno.test("runProxy() stops an idle server, never one in a call", CHECKS, async () => {
  const { promise: release, resolve } = Promise.withResolvers<void>();
  await using bench = await proxyBench(async (message, connection) => {
    if (message.id === 1) await release;
    await echoServer(message, connection);
  });
  const first = bench.ask(1, "tools/call", { name: "look" });
  await received(bench, 1, 1);
  await bench.clock.advance(61_000);
  resolve();
  assert.ok((await first).result);
  await bench.clock.advance(61_000);
  await bench.ended(1);
  assert.ok((await bench.ask(2, "tools/call", { name: "look" })).result);
  assert.equal(bench.connections.length, 2);
});
