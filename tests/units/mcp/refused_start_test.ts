/**
 * A server that may not start: the client gets the reason, whenever its proxy learns of it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { refusal } from "core/errors.ts";
import { err, ok } from "core/result.ts";
import { BENCH_GATE, echoServer, proxyBench } from "tests/support/mcp_proxy.ts";
import { CHECKS, INITIALIZE } from "tests/units/mcp/proxy_calls.ts";

const IDLE_MS = (BENCH_GATE.idleStopSeconds ?? 0) * 1000;
const ALTERED = refusal(
  "tree-altered",
  'Cannot start MCP "bench": its files are not those that were installed',
  { hints: ["fleetctl apply self"] },
);

Deno.test("a server that ends without output is reported as altered", CHECKS, async () => {
  await using bench = await proxyBench((_, connection) => connection.close(), {
    checkServer: () => Promise.resolve(err(ALTERED)),
  });
  const answer = await bench.ask(1, "initialize", INITIALIZE);
  assert.equal(answer.error.message, ALTERED.message);
  assert.deepEqual(answer.error.data, { code: "tree-altered", hints: ["fleetctl apply self"] });
});

Deno.test("an altered server that does not restart is reported as altered", CHECKS, async () => {
  await using bench = await proxyBench(async (message, connection) => {
    if (connection.index > 1) return connection.close();
    await echoServer(message, connection);
  }, { checkServer: () => Promise.resolve(err(ALTERED)) });
  assert.ok((await bench.ask(0, "initialize", INITIALIZE)).result);
  await bench.clock.advance(IDLE_MS);
  await bench.ended(1);
  const answer = await bench.ask(1, "tools/call", { name: "look" });
  assert.equal(answer.error.data.code, "tree-altered", JSON.stringify(answer));
});

Deno.test(
  "an unaltered server is reported as ended, with the doctor's command",
  CHECKS,
  async () => {
    await using bench = await proxyBench((_, connection) => connection.close(), {
      checkServer: () => Promise.resolve(ok(undefined)),
    });
    const answer = await bench.ask(1, "tools/call", { name: "look" });
    assert.equal(answer.error.data.code, "mcp-ended");
    assert.deepEqual(answer.error.data.hints, ["fleetctl mcp doctor bench self"]);
  },
);
