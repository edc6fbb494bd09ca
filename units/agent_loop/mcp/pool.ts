/**
 * All MCP servers of the agent. They are opened in parallel when the first turn needs them, and
 * failed ones are tried again at later turns. A broken server gives a notice with its reason and
 * does not affect the others.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { ServerFault } from "units/agent_loop/mcp/config.ts";
import type { McpServer } from "units/agent_loop/mcp/server.ts";
import type { ServerTool } from "units/agent_loop/mcp/tools_cache.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";

/** Called for a server that cannot be used, as soon as that is known. */
export type ReportFault = (fault: ServerFault) => void;

/** Prepares the servers. */
export interface McpPool {
  /**
   * Opens the servers that are not open and whose tools are not cached. The first call waits for
   * them, up to a time limit; later calls do not wait. Reports each reason at once, and again only
   * when it changes.
   */
  prepare(signal: AbortSignal, report: ReportFault): Promise<void>;
  /** Tools of all servers that are or were reachable, in config order. */
  tools(): readonly Tool[];
  close(): Promise<void>;
}

/**
 * Longest wait of the first turn for a server. The tools of a slower one are added at a later step.
 */
const SLOW_MS = 15_000;

/** Creates the pool; `faults` are servers whose config entry is unusable. */
export function mcpPool(
  servers: readonly McpServer[],
  faults: readonly ServerFault[],
  clock: Clock,
): McpPool {
  const reported = new Map<string, string>();
  const reasons = new Map(faults.map(({ name, reason }) => [name, reason]));
  const ready = new Set<string>();
  const opening = new Map<string, Promise<void>>();
  let isFirst = true;
  let report: ReportFault | undefined;

  /** Reports new reasons. Between turns there is no listener; the next turn reports them. */
  function reportNewFaults(): void {
    if (report === undefined) return;
    for (const [name, reason] of reasons) {
      if (reported.get(name) === reason) continue;
      reported.set(name, reason);
      report({ name, reason });
    }
  }

  function open(server: McpServer): Promise<void> {
    const running = opening.get(server.name);
    if (running !== undefined) return running;
    const attempt = server.open().then((opened) => {
      opening.delete(server.name);
      if (opened.ok) {
        ready.add(server.name);
        reasons.delete(server.name);
        reported.delete(server.name);
      } else reasons.set(server.name, opened.error);
      reportNewFaults();
    });
    opening.set(server.name, attempt);
    return attempt;
  }

  /** Loads the cached tools of a server. Its first call starts it. */
  async function recall(server: McpServer): Promise<void> {
    if (await server.recall()) ready.add(server.name);
  }

  async function openAll(signal: AbortSignal): Promise<void> {
    if (isFirst) await Promise.all(servers.map(recall));
    const attempts = servers.filter((server) => !ready.has(server.name)).map(open);
    if (!isFirst) return;
    isFirst = false;
    await waitBriefly(Promise.all(attempts), signal, clock);
    for (const name of opening.keys()) reasons.set(name, "it is still starting");
  }

  return {
    async prepare(signal, reporter) {
      report = reporter;
      reportNewFaults();
      await openAll(signal);
      reportNewFaults();
      report = undefined;
    },
    tools: () => servers.flatMap((server) => server.tools().map((tool) => toolOf(server, tool))),
    async close() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

/** Waits for the servers until the time limit, or until `signal` aborts. */
async function waitBriefly(
  opened: Promise<unknown>,
  signal: AbortSignal,
  clock: Clock,
): Promise<void> {
  const enough = new AbortController();
  const onAbort = () => enough.abort();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  await Promise.race([opened.then(onAbort), clock.sleep(SLOW_MS, enough.signal)]);
  signal.removeEventListener("abort", onAbort);
  enough.abort();
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
