/**
 * The record of one agent as its shard `agents.d/<agent>.yaml` holds it.
 * No I/O. An empty `run_on` means that the agent runs on every host.
 *
 * @module
 */

import type { AgentLimits } from "core/limits/agent.ts";
import type { AgentName, Email, HostName, McpName, ObjectId } from "core/names.ts";

/** Where an agent's owner talks to it. */
export const CHANNELS = ["webview", "messenger", "teamchat", "workchat"] as const;
/** One of `CHANNELS`. */
export type Channel = typeof CHANNELS[number];

/** The `tools` category: deltas against the default set, MCP names only. */
export interface ToolDeltas {
  readonly add: readonly McpName[];
  readonly remove: readonly McpName[];
}

/** One agent of the fleet. */
export interface AgentRecord {
  readonly name: AgentName;
  readonly channel: Channel;
  readonly userEmail?: Email;
  readonly ownerAad?: ObjectId;
  readonly ownerEmail?: Email;
  /** Name of a runtime definition: `runtime-a`, `runtime-b` or a host's own. */
  readonly runtime: string;
  /** Model provider and model; absent means the runtime's own default. */
  readonly provider?: string;
  readonly model?: string;
  readonly runOn?: HostName;
  /** Folder that it works in, as it was written; absent means the default of its host. */
  readonly workspace?: string;
  /** Root-equivalent on its host. */
  readonly isAdmin: boolean;
  readonly tools: ToolDeltas;
  /** What it may take of its host; what is absent is the host's default. */
  readonly limits?: AgentLimits;
  /** ISO 8601 UTC. */
  readonly created?: string;
  /** Since when it is stopped on purpose, ISO 8601 UTC: it is not started before `agents start`. */
  readonly stopped?: string;
  /**
   * Enrolled Ed25519 dial keys, base64url of the raw 32 bytes. Absent: none yet, and
   * the first that is proven is enrolled. Empty: every key was revoked, and none gets in by itself.
   */
  readonly dialKeys?: readonly string[];
}
