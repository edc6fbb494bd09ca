/**
 * The proxy between a client and servers that behave, die, hang, flood and print garbage.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import assert from "node:assert/strict";
import { MCP_LIMITS } from "core/limits.ts";
import { refusal } from "core/errors.ts";
import { err } from "core/result.ts";
import { echoServer, proxyBench, type ServerBehavior } from "tests/support/mcp_proxy.ts";

const CHECKS = { sanitizeOps: true, sanitizeResources: true };

function call(id: number, name: string, args: unknown = {}) {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } };
}

const INITIALIZE = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t" } };

Deno.test("runProxy() connects only when there is something to ask", CHECKS, async () => {
  await using bench = await proxyBench();
  await bench.send({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
  const answer = await bench.ask(1, "tools/call", { name: "look", arguments: { a: 1 } });
  assert.equal(answer.result.content[0].text, '{"name":"look","arguments":{"a":1}}');
  assert.equal(bench.connections.length, 1);
  assert.equal(bench.connections[0]?.received.length, 1);
});

Deno.test("runProxy() needs no handshake of a stateless client", CHECKS, async () => {
  await using bench = await proxyBench();
  const params = {
    name: "wipe",
    _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" },
  };
  const answer = await bench.ask("a", "tools/call", params);
  assert.equal(answer.result.isError, true);
  assert.equal(answer.result.resultType, "complete");
  assert.equal(bench.connections.length, 0);
});

Deno.test(
  "runProxy() refuses blocked and asking tools without starting the server",
  CHECKS,
  async () => {
    await using bench = await proxyBench();
    for (const [tool, code] of [["wipe", "tool-blocked"], ["write", "approval-unavailable"]]) {
      const answer = await bench.ask(1, "tools/call", { name: tool });
      assert.equal(answer.result.isError, true);
      assert.deepEqual(answer.result._meta, { fleetctl: { denied: true, code } });
      assert.match(
        answer.result.content[0].text,
        new RegExp(`risk: ${tool === "wipe" ? "b" : "a"}`),
      );
    }
    assert.equal(bench.connections.length, 0);
  },
);

Deno.test(
  "runProxy() hides blocked tools and keeps asking ones in tools/list",
  CHECKS,
  async () => {
    await using bench = await proxyBench();
    const answer = await bench.ask(1, "tools/list");
    assert.deepEqual(answer.result.tools.map((tool: { name: string }) => tool.name), [
      "look",
      "write",
    ]);
  },
);

const SMUGGLED: readonly { readonly name: string; readonly line: string }[] = [
  {
    name: "the tool's name twice",
    line: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wipe","name":"look"}}',
  },
  {
    name: "the tool's name twice, once escaped",
    line:
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"n\\u0061me":"wipe","name":"look"}}',
  },
  {
    name: "the tool's name in another case",
    line: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","Name":"wipe"}}',
  },
  {
    name: "params twice",
    line:
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wipe"},"params":{"name":"look"}}',
  },
  {
    name: "the method twice",
    line:
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"tools/list","params":{"name":"wipe"}}',
  },
  {
    name: "the method in another case",
    line: '{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"wipe"}}',
  },
  {
    name: "more keys than are looked at",
    line: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wipe",${
      Array.from({ length: 70 }, (_, at) => `"k${at}":0`).join(",")
    },"name":"look"}}`,
  },
  { name: "a batch", line: '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}]' },
];

for (const { name, line } of SMUGGLED) {
  Deno.test(`runProxy() passes nothing on when a message has ${name}`, CHECKS, async () => {
    await using bench = await proxyBench();
    await bench.sendRaw(`${line}\n`);
    const answer = await bench.next();
    assert.equal(answer.error.code, -32600);
    assert.equal(bench.connections.length, 0);
  });
}

Deno.test("runProxy() refuses other spellings of a ruled tool", CHECKS, async () => {
  await using bench = await proxyBench();
  for (const name of ["WIPE", " wipe", "wipe\t", "ｗｉｐｅ"]) {
    const answer = await bench.ask(1, "tools/call", { name });
    assert.equal(answer.result._meta.fleetctl.code, "tool-blocked", name);
  }
});

Deno.test(
  "runProxy() keeps a message one line for servers that break lines elsewhere",
  CHECKS,
  async () => {
    const raw: string[] = [];
    await using bench = await proxyBench(async (message, connection) => {
      raw.push(JSON.stringify(message));
      await echoServer(message, connection);
    });
    const text = 'x\u2028{"jsonrpc":"2.0","id":9,"method":"tools/call"}\u2029\u0085y';
    await bench.sendRaw(
      `{"jsonrpc":"2.0","id":1,\r"method":"tools/call","params":{"name":"look","arguments":{"t":${
        JSON.stringify(text)
      }}}}\n`,
    );
    const answer = await bench.next();
    assert.equal(JSON.parse(answer.result.content[0].text).arguments.t, text);
    assert.equal(bench.connections[0]?.received.length, 1);
  },
);

Deno.test(
  "runProxy() answers garbage, half lines and invalid UTF-8 of a client and goes on",
  CHECKS,
  async () => {
    await using bench = await proxyBench();
    for (const junk of ["hello\n", "{\n", "42\n", new Uint8Array([0x22, 0xff, 0xfe, 0x22, 0x0a])]) {
      await bench.sendRaw(junk);
      const answer = await bench.next();
      assert.ok(answer.error.code === -32700 || answer.error.code === -32600);
      assert.equal(answer.id, null);
    }
    await bench.sendRaw("\n\r\n");
    assert.ok((await bench.ask(2, "tools/call", { name: "look" })).result);
  },
);

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
      assert.match(answer.error.message, /server is gone, it ended; it may have done its work/);
    }
    assert.ok((await bench.ask(3, "tools/call", { name: "look" })).result);
    assert.equal(bench.connections.length, 2);
  },
);

Deno.test(
  "runProxy() says how much of an answer came when the server dies inside it",
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
  "runProxy() answers the call whose answer is past the limit, and goes on",
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

Deno.test("runProxy() answers a client's message past the limit, and goes on", CHECKS, async () => {
  await using bench = await proxyBench();
  const piece = "x".repeat(1024 * 1024);
  await bench.sendRaw('{"jsonrpc":"2.0","method":"tools/call","params":{"name":"look","a":"');
  for (let mib = 0; mib < 17; mib++) await bench.sendRaw(piece);
  void bench.sendRaw('"},"id":"big"}\n');
  const answer = await bench.next();
  assert.equal(answer.id, "big");
  assert.equal(answer.error.data.code, "message-too-large");
  assert.ok((await bench.ask(2, "tools/call", { name: "look" })).result);
});

Deno.test("runProxy() drops what a server prints that is no message", CHECKS, async () => {
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

Deno.test("runProxy() counts no time of a person whom the server asks", CHECKS, async () => {
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
});

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

Deno.test("runProxy() carries a server's own requests and their answers", CHECKS, async () => {
  await using bench = await proxyBench(async (message, connection) => {
    if (message.method === "tools/call") {
      return await connection.send({ jsonrpc: "2.0", id: "s1", method: "roots/list" });
    }
    if (message.id === "s1") {
      await connection.send({ jsonrpc: "2.0", id: 1, result: message.result });
    }
  });
  await bench.send(call(1, "look"));
  assert.equal((await bench.next()).method, "roots/list");
  await bench.send({ jsonrpc: "2.0", id: "unknown", result: {} });
  await bench.send({ jsonrpc: "2.0", id: "s1", result: { roots: [] } });
  assert.deepEqual((await bench.next()).result, { roots: [] });
  assert.equal(bench.connections[0]?.received.some((message) => message.id === "unknown"), false);
});

Deno.test("runProxy() does not wait for the answer of a cancelled call", CHECKS, async () => {
  await using bench = await proxyBench(async (message, connection) => {
    if (message.method === "notifications/cancelled") {
      await connection.send({ jsonrpc: "2.0", id: 1, result: { late: true } });
    } else if (message.id !== 1) await echoServer(message, connection);
  });
  await bench.send(call(1, "look"));
  await bench.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
  await bench.send({ jsonrpc: "2.0", id: 2, method: "tools/list" });
  const answer = await bench.next();
  assert.equal(answer.id, 2);
  assert.equal(answer.result.tools.length, 2);
});

Deno.test("runProxy() refuses a second open request with the same id", CHECKS, async () => {
  await using bench = await proxyBench(() => {});
  await bench.send(call(1, "look"));
  await bench.send(call(1, "look"));
  assert.equal((await bench.next()).error.data.code, "id-in-use");
});

Deno.test("runProxy() says that the socket does not exist", CHECKS, async () => {
  await using bench = await proxyBench(echoServer, { listen: false });
  const answer = await bench.ask(1, "tools/list");
  assert.equal(answer.error.data.code, "mcp-unreachable");
  assert.match(answer.error.message, /socket ".*mcp\.sock" does not exist/);
});

Deno.test("runProxy() refuses everything while the gate cannot be read", CHECKS, async () => {
  const gate = { current: () => Promise.resolve(err(refusal("gate-unreadable", "Cannot use it"))) };
  await using bench = await proxyBench(echoServer, { gate });
  for (const method of ["initialize", "tools/list", "resources/read"]) {
    assert.equal((await bench.ask(1, method)).error.data.code, "gate-unreadable");
  }
  const answer = await bench.ask(1, "tools/call", { name: "look" });
  assert.equal(answer.result._meta.fleetctl.code, "gate-unreadable");
  await bench.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  assert.equal(bench.connections.length, 0);
});

Deno.test("runProxy() slows a server down whose client does not read", CHECKS, async () => {
  let sent = 0;
  const { promise: stuck, resolve } = Promise.withResolvers<void>();
  await using bench = await proxyBench(async (_, connection) => {
    const params = { data: "x".repeat(1024 * 1024) };
    for (; sent < 64; sent++) {
      const writing = connection.send({ jsonrpc: "2.0", method: "notifications/message", params });
      const isStuck = await Promise.race([writing.then(() => false), quiet().then(() => true)]);
      if (isStuck) resolve();
      await writing;
    }
  });
  await bench.send(call(1, "look"));
  await stuck;
  assert.ok(sent < 16, `${sent} MiB were taken from a server whose client reads nothing`);
});

/** Resolves when the event loop had nothing to do for a while: what is blocked then stays so. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 2000; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Resolves when connection `index` has received `count` messages. */
async function received(
  bench: Awaited<ReturnType<typeof proxyBench>>,
  index: number,
  count: number,
): Promise<void> {
  await bench.connected(index);
  const connection = bench.connections[index - 1];
  while ((connection?.received.length ?? 0) < count) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}
