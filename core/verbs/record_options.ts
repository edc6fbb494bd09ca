/**
 * The options of `agents add` and `agents set` that set a field of an agent's record. Data only.
 *
 * @module
 */

import type { Option } from "core/verbs/verb.ts";

/** Owner, runtime and model of a new agent. */
export const OWNER_OPTIONS: readonly Option[] = [
  { name: "user-email", value: "EMAIL", summary: "Login identity that maps to this agent" },
  { name: "owner-aad", value: "object_id", summary: "Owner's identity-provider object id" },
  { name: "owner-email", value: "EMAIL", summary: "Owner's address" },
  { name: "runtime", value: "runtime", summary: "Runtime definition (default runtime-b)" },
  { name: "provider", value: "provider", summary: "Model provider" },
  { name: "model", value: "model", summary: "Model of that provider" },
];

/** The agent's working folder. */
export const WORKSPACE_OPTION: Option = {
  name: "workspace",
  value: "DIR",
  summary: "Folder it works in and its git may write (default ~/workspace)",
};

/** Which built-in tools ask a person first. */
export const ASK_OPTION: Option = {
  name: "ask",
  value: "mode",
  summary: "Which built-in tools ask a person first: changes, outside or never",
};

/** How long a person has to decide about a call of the agent. */
export const ASK_TIME_OPTION: Option = {
  name: "ask-time",
  value: "DURATION",
  summary: "How long a person has to decide about a call, such as 8h (default 24h)",
};

/** Git worktrees of the agent's conversations. */
export const WORKTREE_OPTIONS: readonly Option[] = [
  {
    name: "worktrees",
    value: "yes|no",
    summary: "Give each new conversation a git worktree of the workspace (default no)",
  },
  { name: "setup", value: "FILE", summary: "Script of the repository that prepares a worktree" },
];
/** The agent's spend ceilings. */
export const CEILING_OPTION: Option = {
  name: "ceiling",
  value: "LIST",
  summary: "How much it may spend, such as day=5usd; day=5usd+2usd: its owner may allow 2 more",
};

/** The sandbox for the agent's commands. */
export const SANDBOX_OPTIONS: readonly Option[] = [
  {
    name: "sandbox",
    value: "on|off",
    summary: "Run its commands in a sandbox that sees only the workspace (default off)",
  },
  {
    name: "sandbox-network",
    value: "none|all",
    summary: "Network of commands in the sandbox (default none)",
  },
];

/** The agent's persona. */
export const PERSONA_OPTION: Option = {
  name: "persona",
  value: "TEXT",
  summary: "Its role and manner, for the prompt of the built-in runtime, at most 4096 characters",
};

/** Resource limits in an agent's record; the host has a default for each. */
export const LIMIT_OPTIONS: readonly Option[] = [
  { name: "memory-max", value: "SIZE", summary: "Memory limit, such as 2G; at least 256M" },
  { name: "memory-high", value: "SIZE", summary: "Memory above which it is slowed down" },
  { name: "tasks-max", value: "N", summary: "Limit of processes and threads, at least 128" },
  { name: "cpu-weight", value: "N", summary: "Share of the processor, 1 to 10000 (default 100)" },
  { name: "io-weight", value: "N", summary: "Share of the disk, 1 to 10000 (default 100)" },
];
