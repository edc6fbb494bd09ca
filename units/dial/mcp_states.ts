/**
 * Which MCPs the running program has. Known from the program's own report, or from the connections
 * of the MCP proxies: each one reports once the program has listed its tools. Written to a file for
 * verbs on this host.
 *
 * @module
 */

import { MCPS_FILE, printReportedMcps } from "core/dial/host_mcps.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import type { McpLoad, McpLoadState } from "core/runtimes/mcp_load.ts";
import { createNewestFile } from "units/dial/newest_file.ts";

/** What is known about the MCPs of one agent. */
export interface McpStates {
  /** Accepts the program's own report, which replaces the previous one. */
  report(loads: readonly McpLoad[]): void;
  /**
   * Records that the program has listed an MCP's tools through a proxy. Returns a function to call
   * when the proxy ends.
   */
  listed(mcp: string): () => void;
  /** The program is about to sleep: what it has now stays valid until it starts again. */
  hold(): void;
  /** The program has ended: its reports are no longer valid. */
  forget(): void;
  settled(): Promise<void>;
}

/** Maximum number of names kept; an agent has fewer. */
const NAMES_MAX = 512;

/** Creates an empty record; `folder` must exist before the first report. */
export function createMcpStates(deps: {
  readonly files: Pick<Files, "write">;
  readonly clock: Clock;
  readonly log: Log;
  readonly folder: string;
}): McpStates {
  const { files, clock, log } = deps;
  const startedMs = clock.now();
  const file = createNewestFile({ files, log, path: `${deps.folder}/${MCPS_FILE}` });
  let reported: readonly McpLoad[] = [];
  /** Number of proxy connections by MCP: a program may open more than one. */
  const connections = new Map<string, number>();
  let last = "";

  function states(): ReadonlyMap<string, McpLoadState> {
    const found = new Map<string, McpLoadState>();
    for (const name of connections.keys()) found.set(name, "connected");
    for (const { name, state } of reported.slice(0, NAMES_MAX)) found.set(name, state);
    return found;
  }

  function write(): void {
    const text = printReportedMcps({ startedMs, states: states() });
    if (text === last) return;
    last = text;
    file.write(text);
  }

  function unlist(mcp: string): void {
    const left = (connections.get(mcp) ?? 1) - 1;
    if (left === 0) connections.delete(mcp);
    else connections.set(mcp, left);
    write();
  }

  return {
    report(loads) {
      reported = loads;
      write();
    },
    listed(mcp) {
      connections.set(mcp, (connections.get(mcp) ?? 0) + 1);
      write();
      return () => unlist(mcp);
    },
    hold() {
      reported = [...states()].map(([name, state]) => ({ name, state }));
    },
    forget() {
      reported = [];
      write();
    },
    settled: file.settled,
  };
}
