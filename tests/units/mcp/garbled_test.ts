/**
 * Unreadable answers of a server: each ends its own call at once.
 *
 * @module
 */

import assert from "node:assert/strict";
import { echoServer, proxyBench } from "tests/support/mcp_proxy.ts";
import { call, CHECKS } from "tests/units/mcp/proxy_calls.ts";

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const answer = (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{"text":"Grüße"}}\n`;

Deno.test("an answer that is not UTF-8 ends its call and no other", CHECKS, async () => {
  await using bench = await proxyBench(async (message, connection) => {
    if (message.id === 1) return;
    if (message.id !== 2) return await echoServer(message, connection);
    await connection.sendRaw(latin1(answer(2)));
    await connection.send({ jsonrpc: "2.0", id: 1, result: { content: [] } });
  });
  await bench.send(call(1, "look"));
  await bench.send(call(2, "look"));
  const broken = await bench.next();
  assert.deepEqual([broken.id, broken.error.data.code], [2, "server-garbage"]);
  assert.match(broken.error.message, /its answer is unusable, the line is not valid UTF-8/);
  assert.equal((await bench.next()).id, 1);
  assert.ok((await bench.ask(3, "tools/call", { name: "look" })).result);
  assert.equal(bench.connections.length, 1, "the server continues");
});

Deno.test("a broken answer whose id cannot be read ends every open call", CHECKS, async () => {
  await using bench = await proxyBench(async (message, connection) => {
    if (message.id !== 2) return;
    await connection.sendRaw('{"jsonrpc":"2.0","result":{"text":"half');
    await connection.sendRaw("\n");
  });
  await bench.send(call(1, "look"));
  await bench.send(call(2, "look"));
  const ended = [await bench.next(), await bench.next()];
  assert.deepEqual(ended.map(({ id, error }) => [id, error.data.code]), [
    [1, "server-garbage"],
    [2, "server-garbage"],
  ]);
});

Deno.test("a broken request of the server ends no call of the client", CHECKS, async () => {
  await using bench = await proxyBench(async (message, connection) => {
    const ask = `{"jsonrpc":"2.0","id":${message.id},"method":"roots/list","x":"Grüße"}\n`;
    await connection.sendRaw(latin1(ask));
    await echoServer(message, connection);
  });
  assert.ok((await bench.ask(1, "tools/call", { name: "look" })).result);
  assert.equal(bench.log.of("server_garbage").length, 1);
});
