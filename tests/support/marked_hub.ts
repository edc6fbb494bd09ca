/**
 * An MCP server by URL whose tools read, publish, wipe and archive; it records the calls that reach
 * it. The catalog holds the risk marks; the server itself executes every call.
 *
 * @module
 */

import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { type HttpMcp, serveMcp } from "tests/support/http_mcp.ts";

/** The tools of the server. */
export const HUB_TOOLS = ["read", "publish", "wipe", "archive"] as const;

/** The server and the calls that reached it. */
export interface MarkedHub extends HttpMcp {
  /** `publish hello`. */
  readonly calls: readonly string[];
}

/**
 * Starts it on loopback; it requires the key of `serveMcp`. A call is answered once the promise
 * that `onCall` returned for it has resolved.
 */
export function markedHub(
  onCall: (call: string) => Promise<void> = () => Promise.resolve(),
): MarkedHub {
  const calls: string[] = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "hub", version: "1.0.0" });
    for (const tool of HUB_TOOLS) {
      server.registerTool(
        tool,
        { description: `Does ${tool}.`, inputSchema: z.object({ page: z.string() }) },
        async ({ page }) => {
          const call = `${tool} ${page}`;
          calls.push(call);
          await onCall(call);
          return { content: [{ type: "text", text: `${tool} of ${page} is done` }] };
        },
      );
    }
    return server;
  });
  return { ...serveMcp((request) => handler.fetch(request)), calls };
}
