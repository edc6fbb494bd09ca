/**
 * Messages that the tests of the proxy send.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { proxyBench } from "tests/support/mcp_proxy.ts";

/** Options of a test that must leave nothing open. */
export const CHECKS = { sanitizeOps: true, sanitizeResources: true };

/** Returns a tool call as a message. */
export function call(id: number, name: string, args: unknown = {}) {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } };
}

/** The first message of a client of the older revision. */
export const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "t" },
};

/** Resolves when connection `index` has received `count` messages. */
export async function received(
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
