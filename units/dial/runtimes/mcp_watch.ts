/**
 * The MCPs of a runtime, as the runtime reports them. The first turn waits until they are
 * connected, for a bounded time. A turn without some of them shows a notice.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import { fieldsOf, type Message, notice, textOf } from "units/dial/runtimes/message.ts";
import { loadText, MCP_LOAD_STATES, type McpLoad } from "core/runtimes/mcp_load.ts";

/** Longest wait of the first turn for MCPs that are still connecting. */
export const MCPS_READY_MS = 20_000;
const POLL_MS = 200;

/** Dependencies of the watch. */
export interface McpWatchDeps {
  /** MCPs that the program received. */
  readonly names: readonly string[];
  readonly clock: Pick<Clock, "sleep">;
  /** Requests the report; rejects when the program has none. */
  readonly ask: () => Promise<Message>;
  readonly onMcps: (loads: readonly McpLoad[]) => void;
}

/** Watches the MCPs of one process. */
export interface McpWatch {
  /** Resolves when none is connecting any longer, the time is over, or `signal` aborts. */
  settle(signal: AbortSignal): Promise<void>;
  /** Passes on a report that the program sent unrequested. */
  report(servers: unknown): void;
  /** Reads the report that begins a turn; returns notices for the person who watches. */
  onTurn(message: Message): readonly unknown[];
}

/** Creates the watch. */
export function createMcpWatch({ names, clock, ask, onMcps }: McpWatchDeps): McpWatch {
  /** The last notice about missing MCPs; a new one is shown only when it changes. */
  let lastNotice = "";

  function loadsOf(servers: unknown): readonly McpLoad[] {
    const states = new Map(
      (Array.isArray(servers) ? servers.map(fieldsOf) : [])
        .map(({ name, status }) => [textOf(name), textOf(status)]),
    );
    return names.map((name) => {
      const state = MCP_LOAD_STATES.find((each) => each === states.get(name));
      return { name, state: state ?? (states.has(name) ? "failed" : "absent") };
    });
  }

  async function follow(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      let report: Message;
      try {
        report = await ask();
      } catch {
        // An older program has no report, so the states stay unknown.
        return;
      }
      const loads = loadsOf(report.mcpServers);
      onMcps(loads);
      if (loads.every(({ state }) => state !== "pending")) return;
      await clock.sleep(POLL_MS, over);
    }
  }

  return {
    async settle(signal) {
      if (names.length === 0) return;
      const answered = new AbortController();
      const over = AbortSignal.any([signal, answered.signal]);
      const late = clock.sleep(MCPS_READY_MS, over);
      await Promise.race([follow(over), late]);
      answered.abort();
    },
    report: (servers) => onMcps(loadsOf(servers)),
    onTurn(message) {
      if (names.length === 0 || !Array.isArray(message.mcp_servers)) return [];
      const loads = loadsOf(message.mcp_servers);
      onMcps(loads);
      const missing = loads.filter(({ state }) => state !== "connected").map(loadText).join(", ");
      if (missing === lastNotice) return [];
      lastNotice = missing;
      return missing === "" ? [] : [notice("Without these MCPs", missing)];
    },
  };
}
