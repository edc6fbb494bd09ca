/**
 * Which stderr lines of a server are records of the MCP proxy.
 *
 * @module
 */

import assert from "node:assert/strict";
import { proxyRecord } from "units/agent_loop/mcp/proxy_record.ts";

Deno.test("proxyRecord() reads the log lines of fleetctl's proxy, and no other output", () => {
  const line = (more: Readonly<Record<string, unknown>>) =>
    JSON.stringify({ at: "t", level: "info", program: "fleetctl-mcp", event: "call", ...more });
  assert.deepEqual(proxyRecord(line({ tool: "git_log", arguments: "path" })), {
    level: "info",
    event: "call",
    fields: { tool: "git_log", arguments: "path" },
  });
  for (
    const other of [
      "listening on stdio",
      "{",
      "null",
      line({ program: "other" }),
      line({ level: "debug" }),
      line({ level: "constructor" }),
      line({ event: "a b" }),
      line({ event: 7 }),
    ]
  ) assert.equal(proxyRecord(other), undefined, other);
});
