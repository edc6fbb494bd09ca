/**
 * The proxy and its client: what passes the gate, smuggled messages, garbage, and order.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import assert from "node:assert/strict";
import { refusal } from "core/errors.ts";
import { err } from "core/result.ts";
import { echoServer, proxyBench } from "tests/support/mcp_proxy.ts";
import { call, CHECKS } from "tests/units/mcp/proxy_calls.ts";

Deno.test("runProxy() connects only when there is a request", CHECKS, async () => {
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
    line: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wipe"},' +
      '"params":{"name":"look"}}',
  },
  {
    name: "the method twice",
    line: '{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"tools/list",' +
      '"params":{"name":"wipe"}}',
  },
  {
    name: "the method in another case",
    line: '{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"wipe"}}',
  },
  {
    name: "more keys than are checked",
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
  "runProxy() answers garbage, half lines and invalid UTF-8 of a client and continues",
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

Deno.test("runProxy() passes on a server's own requests and their answers", CHECKS, async () => {
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

/** Resolves when the event loop was idle for a while: whatever is blocked then stays blocked. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 2000; turn++) await new Promise((resolve) => setImmediate(resolve));
}
