/**
 * The MCPs of an agent's running program, as its dial unit writes them to a file for verbs on this
 * host. The agent controls the file, so its size is bounded and it is trusted only about that
 * agent. No I/O.
 *
 * @module
 */

import { MCP_LOAD_STATES, type McpLoadState } from "core/runtimes/mcp_load.ts";
import { isRecord, parseJsonObject } from "core/text/json_object.ts";

/** Contents of the file. */
export interface ReportedMcps {
  /** When the writing program started, in milliseconds since the epoch. */
  readonly startedMs: number;
  readonly states: ReadonlyMap<string, McpLoadState>;
}

/** Name of the file in the folder of the dial unit. */
export const MCPS_FILE = "mcps.json";
/** Largest file that is read. */
export const MCPS_FILE_BYTES_MAX = 64 * 1024;

/** Prints the file. */
export function printReportedMcps({ startedMs, states }: ReportedMcps): string {
  return `${JSON.stringify({ started: startedMs, mcps: Object.fromEntries(states) })}\n`;
}

/** Parses the file; returns undefined if it is invalid. */
export function parseReportedMcps(text: string): ReportedMcps | undefined {
  const reported = parseJsonObject(text);
  if (reported === undefined || typeof reported.started !== "number" || !isRecord(reported.mcps)) {
    return undefined;
  }
  const states = new Map<string, McpLoadState>();
  for (const [name, value] of Object.entries(reported.mcps)) {
    const state = MCP_LOAD_STATES.find((each) => each === value);
    if (state === undefined) return undefined;
    states.set(name, state);
  }
  return { startedMs: reported.started, states };
}
