/**
 * The record of one agent, as in its shard `agents.d/<agent>.yaml`. An empty `run_on` means that
 * the agent runs on every host. No I/O.
 *
 * @module
 */

import type { AgentLimits } from "core/limits/agent.ts";
import type { SandboxNetwork } from "core/sandbox/command_sandbox.ts";
import type { AgentName, Email, HostName, McpName, ObjectId } from "core/names.ts";

/** The channels through which owners talk to their agents. */
export const CHANNELS = ["webview", "messenger", "teamchat", "workchat"] as const;
/** One of `CHANNELS`. */
export type Channel = typeof CHANNELS[number];

/**
 * What an agent's runtime asks a person about before it uses a built-in tool: every change, only
 * what leaves the workspace, or nothing (docs/approvals.md#built-in-tools-and-modes).
 */
export const ASK_MODES = ["changes", "outside", "never"] as const;
/** One of `ASK_MODES`. */
export type AskMode = typeof ASK_MODES[number];

/** Whether commands of the built-in runtime run in a sandbox. */
export const SANDBOX_MODES = ["on", "off"] as const;
/** One of `SANDBOX_MODES`. */
export type SandboxMode = typeof SANDBOX_MODES[number];

/** A switch in an agent's record. */
export const YES_OR_NO = ["yes", "no"] as const;
/** One of `YES_OR_NO`. */
export type YesOrNo = typeof YES_OR_NO[number];

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
  /** The folder it works in, as written in the shard; absent means its host's default. */
  readonly workspace?: string;
  /** What it asks about before it uses a built-in tool; absent means its runtime's default. */
  readonly ask?: AskMode;
  /** How long a person has to decide about a call, such as `8h`; absent means 24 hours. */
  readonly askTime?: string;
  /** Whether each new conversation gets a git worktree; absent means no. */
  readonly worktrees?: YesOrNo;
  /** Set-up script of a new worktree, relative to its root; absent means none. */
  readonly setup?: string;
  /** How much it may spend, such as `day=5usd`; absent means without a ceiling. */
  readonly ceiling?: string;
  /** Whether its commands run in a sandbox; absent means off. */
  readonly sandbox?: SandboxMode;
  /** The network of commands in the sandbox; absent means none. */
  readonly sandboxNetwork?: SandboxNetwork;
  /** Its role and manner, for the prompt of the built-in runtime; absent means none. */
  readonly persona?: string;
  /** Root-equivalent on its host. */
  readonly isAdmin: boolean;
  readonly tools: ToolDeltas;
  /** Its resource limits; an absent one is the host's default. */
  readonly limits?: AgentLimits;
  /** ISO 8601 UTC. */
  readonly created?: string;
  /** Since when it is stopped on purpose, ISO 8601 UTC; it stays stopped until `agents start`. */
  readonly stopped?: string;
  /**
   * Enrolled Ed25519 dial keys, base64url of the raw 32 bytes. Absent: none yet, and the first
   * proven key is enrolled. Empty: every key was revoked, and a proven key is not enrolled.
   */
  readonly dialKeys?: readonly string[];
}
