/**
 * Servers that answer twice, late, out of order or endlessly, or change their tools in mid-session:
 * each affects at most its own call.
 *
 * @module
 */

import assert from "node:assert/strict";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import { echoServer, proxyBench, type Wire } from "tests/support/mcp_proxy.ts";

const CHECKS = { sanitizeOps: true, sanitizeResources: true };
const call = (id: number, name = "look") => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: { id } },
});
const answer = (id: number | string, words: string) => ({
  jsonrpc: "2.0",
  id,
  result: { content: [{ type: "text", text: words }] },
});

Deno.test("a repeated answer is passed on once, and an unrequested one never", CHECKS, async () => {
  await using bench = await proxyBench(async (message, connection) => {
    await connection.send(answer("made-up", "to nobody"));
    await connection.send(answer(message.id, "first"));
    await connection.send(answer(message.id, "second"));
  });
  assert.equal(
    (await bench.ask(1, "tools/call", { name: "look" })).result.content[0].text,
    "first",
  );
  // The next message must be the next answer, with nothing in between.
  await bench.send(call(2));
  const next = await bench.next();
  assert.deepEqual([next.id, next.result.content[0].text], [2, "first"]);
});

Deno.test("answers out of order reach the calls that they belong to", CHECKS, async () => {
  const held: Wire[] = [];
  await using bench = await proxyBench(async (message, connection) => {
    held.push(message);
    if (held.length < 3) return;
    for (const each of held.toReversed()) await connection.send(answer(each.id, `of ${each.id}`));
  });
  for (const id of [1, 2, 3]) await bench.send(call(id));
  const got = [await bench.next(), await bench.next(), await bench.next()];
  assert.deepEqual(got.map(({ id, result }) => [id, result.content[0].text]), [
    [3, "of 3"],
    [2, "of 2"],
    [1, "of 1"],
  ]);
});

Deno.test(
  "an answer after its deadline is dropped, and the next call is not disturbed",
  CHECKS,
  async () => {
    let late: (() => Promise<void>) | undefined;
    await using bench = await proxyBench(async (message, connection) => {
      if (message.method !== "tools/call" || message.params.arguments?.id !== 1) {
        return await echoServer(message, connection);
      }
      late = () => connection.send(answer(1, "too late"));
    });
    await bench.send(call(1));
    await bench.connected(1);
    // A second call stays open, so the proxy does not give up the server.
    const other = bench.send({ ...call(9), method: "subscriptions/listen" });
    await other;
    await bench.clock.advance(MCP_LIMITS.callSeconds * 1000);
    const expired = await bench.next();
    assert.ok([1, 9].includes(expired.id));
    await late?.().catch(() => {/* the server was given up */});
    assert.ok((await bench.ask(3, "tools/call", { name: "look" })).result);
  },
);

Deno.test("an endless answer uses no memory, and fails only its own call", CHECKS, async () => {
  const chunk = new Uint8Array(1024 * 1024).fill(0x78);
  const flooded = Promise.withResolvers<void>();
  await using bench = await proxyBench(async (message, connection) => {
    if (message.params?.arguments?.id !== 1) return await echoServer(message, connection);
    await connection.sendRaw('{"jsonrpc":"2.0","id":1,"result":{"x":"');
    for (let sent = 0; sent < 3 * MCP_LIMITS.messageBytesMax; sent += chunk.length) {
      await connection.sendRaw(chunk);
    }
    flooded.resolve();
  });
  await bench.send(call(1));
  await flooded.promise;
  await bench.clock.advance(MCP_LIMITS.callSeconds * 1000);
  const expired = await bench.next();
  assert.deepEqual([expired.id, expired.error.code], [1, -32001]);
  assert.ok((await bench.ask(2, "tools/call", { name: "look" })).result, "a new server works");
});

Deno.test(
  "tools that appear during a session are held back, blocked ones stay blocked",
  CHECKS,
  async () => {
    let tools = ["look"];
    await using bench = await proxyBench(async (message, connection) => {
      if (message.method !== "tools/list") return await echoServer(message, connection);
      const listed = tools.map((name) => ({ name, inputSchema: { type: "object" } }));
      await connection.send({ jsonrpc: "2.0", id: message.id, result: { tools: listed } });
      tools = ["look", "wipe", "extra"];
      await connection.send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    });
    const names = (listed: Wire) => listed.result.tools.map(({ name }: { name: string }) => name);
    assert.deepEqual(names(await bench.ask(1, "tools/list")), ["look"]);
    assert.equal((await bench.next()).method, "notifications/tools/list_changed");
    assert.deepEqual(names(await bench.ask(2, "tools/list")), ["look"]);
    const extra = await bench.ask(4, "tools/call", { name: "extra" });
    assert.equal(extra.result._meta.fleetctl.code, "tool-unreviewed");
    // A server that offers a blocked tool again still gets no call for it.
    assert.equal((await bench.ask(3, "tools/call", { name: "wipe" })).result.isError, true);
  },
);

Deno.test("unknown methods pass in both directions", CHECKS, async () => {
  await using bench = await proxyBench(async (message, connection) => {
    if (message.method === undefined) return;
    await connection.send({ jsonrpc: "2.0", method: "x/notify", params: { a: 1 } });
    await connection.send({ jsonrpc: "2.0", id: message.id, result: { method: message.method } });
  });
  await bench.send({ jsonrpc: "2.0", id: 1, method: "x/unknown", params: {} });
  assert.deepEqual((await bench.next()).params, { a: 1 });
  assert.equal((await bench.next()).result.method, "x/unknown");
});
