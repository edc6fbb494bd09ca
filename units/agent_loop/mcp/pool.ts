/**
 * All MCP servers of the agent: opened side by side when the first turn needs them, tried again at
 * later turns when they failed. A broken one yields a notice with its reason and hides no other.
 *
 * @module
 */

import { MCP_LIMITS } from "core/limits.ts";
import type { Clock } from "core/ports.ts";
import type { ServerFault } from "units/agent_loop/mcp/config.ts";
import type { McpServer, ServerTool } from "units/agent_loop/mcp/server.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";

/** What came of getting the servers ready. */
export interface McpPool {
  /**
   * Opens what is not open. The first time it waits for every server, but no longer than a
   * handshake may take; later it waits for none. Each reason is told once until it changes.
   */
  prepare(signal: AbortSignal): Promise<readonly ServerFault[]>;
  /** Tools of all servers that are or were reachable, in the order of the config. */
  tools(): readonly Tool[];
  close(): Promise<void>;
}

/** Creates the pool; `faults` are servers whose config entry is unusable. */
export function mcpPool(
  servers: readonly McpServer[],
  faults: readonly ServerFault[],
  clock: Clock,
): McpPool {
  const told = new Map<string, string>();
  const reasons = new Map<string, string>();
  const ready = new Set<string>();
  const opening = new Map<string, Promise<void>>();
  let isFirst = true;
  for (const fault of faults) reasons.set(fault.name, fault.reason);

  function open(server: McpServer): Promise<void> {
    const running = opening.get(server.name);
    if (running !== undefined) return running;
    const attempt = server.open().then((opened) => {
      opening.delete(server.name);
      if (opened.ok) {
        ready.add(server.name);
        reasons.delete(server.name);
        told.delete(server.name);
      } else reasons.set(server.name, opened.error);
    });
    opening.set(server.name, attempt);
    return attempt;
  }

  async function openAll(signal: AbortSignal): Promise<void> {
    const attempts = servers.filter((server) => !ready.has(server.name)).map(open);
    if (!isFirst) return;
    isFirst = false;
    const enough = new AbortController();
    const onAbort = () => enough.abort();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const all = Promise.all(attempts).then(onAbort);
    await Promise.race([all, clock.sleep(MCP_LIMITS.handshakeSeconds * 1000, enough.signal)]);
    signal.removeEventListener("abort", onAbort);
    enough.abort();
    for (const name of opening.keys()) reasons.set(name, "it is still starting");
  }

  return {
    async prepare(signal) {
      await openAll(signal);
      const news = [...reasons].filter(([name, reason]) => told.get(name) !== reason);
      for (const [name, reason] of news) told.set(name, reason);
      return news.map(([name, reason]) => ({ name, reason }));
    },
    tools: () => servers.flatMap((server) => server.tools().map((tool) => toolOf(server, tool))),
    async close() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

function toolOf(server: McpServer, tool: ServerTool): Tool {
  return {
    name: tool.name,
    tool: tool.name,
    mcp: server.name,
    kind: tool.isReadOnly ? "read" : "other",
    isConcurrent: tool.isReadOnly,
    description: tool.description,
    inputSchema: { ...tool.inputSchema, type: "object" },
    run: (input, signal) => server.call(tool.name, input, signal),
  };
}
