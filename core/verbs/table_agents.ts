/**
 * Rows of the verb table: agents, their sign-ins, turns and usage. Data only.
 *
 * @module
 */

import { LISTS_OF_AGENTS } from "core/verbs/list_verb.ts";
import type { Argument, Option, Verb } from "core/verbs/verb.ts";

const OWNER_OPTIONS: readonly Option[] = [
  { name: "user-email", value: "EMAIL", summary: "Login identity that maps to this agent" },
  { name: "owner-aad", value: "object_id", summary: "Owner's identity-provider object id" },
  { name: "owner-email", value: "EMAIL", summary: "Owner's address" },
  { name: "runtime", value: "runtime", summary: "Runtime definition (default runtime-b)" },
  { name: "provider", value: "provider", summary: "Model provider" },
  { name: "model", value: "model", summary: "Model of that provider" },
];

const WORKSPACE_OPTION: Option = {
  name: "workspace",
  value: "DIR",
  summary: "Folder it works in and its git may write (default ~/workspace)",
};

const ASK_OPTION: Option = {
  name: "ask",
  value: "mode",
  summary: "Which built-in tools ask a person first: changes, outside or never",
};

const WORKTREE_OPTIONS: readonly Option[] = [
  {
    name: "worktrees",
    value: "yes|no",
    summary: "Give each new conversation a git worktree of the workspace (default no)",
  },
  { name: "setup", value: "FILE", summary: "Script of the repository that prepares a worktree" },
];
const CEILING_OPTION: Option = {
  name: "ceiling",
  value: "LIST",
  summary: "How much it may spend, such as day=5usd; day=5usd+2usd: its owner may allow 2 more",
};

const SANDBOX_OPTIONS: readonly Option[] = [
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

const PERSONA_OPTION: Option = {
  name: "persona",
  value: "TEXT",
  summary: "Its role and manner, for the prompt of the built-in runtime, at most 4096 characters",
};

/** Resource limits in an agent's record; the host has a default for each. */
const LIMIT_OPTIONS: readonly Option[] = [
  { name: "memory-max", value: "SIZE", summary: "Memory limit, such as 2G; at least 256M" },
  { name: "memory-high", value: "SIZE", summary: "Memory above which it is slowed down" },
  { name: "tasks-max", value: "N", summary: "Limit of processes and threads, at least 128" },
  { name: "cpu-weight", value: "N", summary: "Share of the processor, 1 to 10000 (default 100)" },
  { name: "io-weight", value: "N", summary: "Share of the disk, 1 to 10000 (default 100)" },
];

const TARGET: Argument = { name: "agent", summary: 'Name of an agent, or "self"' };

const CHANNEL_OPTION = {
  name: "channel",
  value: "channel",
  choices: ["webview", "messenger", "teamchat", "workchat"],
} as const;

/** Verbs about agents. */
export const AGENT_VERBS: readonly Verb[] = [
  {
    path: ["agents", "add"],
    args: [{ name: "name", summary: "Name of the agent and of its Unix user" }],
    options: [
      { ...CHANNEL_OPTION, summary: "Where the owner talks to it" },
      ...OWNER_OPTIONS,
      { name: "login", summary: "Give the user-email a login, with a password that is shown once" },
      WORKSPACE_OPTION,
      ASK_OPTION,
      ...WORKTREE_OPTIONS,
      CEILING_OPTION,
      ...SANDBOX_OPTIONS,
      PERSONA_OPTION,
      ...LIMIT_OPTIONS,
      { name: "dry-run", summary: "Print what would change" },
    ],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Create an agent, pinned to this host",
    example: "fleetctl agents add mia --channel webview --user-email mia@example.org",
  },
  {
    path: ["agents", "key", "enroll"],
    args: [
      { name: "agent", summary: "Name of an agent" },
      { name: "key", summary: "The public key: 43 characters of base64url" },
    ],
    options: [{ name: "first", summary: "Only for an agent that never had a key" }],
    scope: "gateway",
    runs: "root",
    mutates: true,
    summary: "Enroll a dial key, after a revoke or for a second host",
    example: "fleetctl agents key enroll ada 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
  },
  {
    path: ["agents", "key", "list"],
    args: [{ name: "agent", optional: true, summary: "Name of an agent" }],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: false,
    summary: "List the enrolled dial keys",
    example: "fleetctl agents key list ada",
  },
  {
    path: ["agents", "key", "revoke"],
    args: [
      { name: "agent", summary: "Name of an agent" },
      { name: "key", optional: true, summary: "The key; all keys if omitted" },
    ],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Revoke dial keys and end the sessions that used them",
    example: "fleetctl agents key revoke ada",
  },
  {
    path: ["agents", "list"],
    args: [],
    options: [],
    scope: "agent",
    runs: "root",
    mutates: false,
    summary: "List the agents: channel, runtime, host, MCPs, state",
    example: "fleetctl agents list",
  },
  {
    path: ["agents", "model", "set"],
    args: [{ name: "agent", summary: 'Name of an agent, or "self"' }],
    options: [
      {
        name: "provider",
        value: "provider",
        choices: ["anthropic", "openai", "openai-compatible", "demo"],
        summary: "Model provider; demo is the built-in demo model",
      },
      { name: "model", value: "model", summary: "Model id of the provider" },
      {
        name: "base-url",
        value: "URL",
        summary: "Address of the endpoint, usually ending in /v1; the provider's own if omitted",
      },
      {
        name: "key",
        value: "key",
        secret: true,
        unless: ["no-key", "provider=demo"],
        summary: 'Key of the endpoint; "-" reads stdin; prompted for if omitted',
      },
      { name: "no-key", summary: "Prompt for no key: keep that of the same endpoint, or use none" },
      { name: "no-check", summary: "Store without testing the endpoint" },
    ],
    scope: "self_or_gateway",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    summary: "Test a model, store its key for an agent, and restart the agent",
    example: "fleetctl agents model set ada --provider anthropic --model claude-sonnet-4-5",
  },
  {
    path: ["agents", "model", "show"],
    args: [{ name: "agent", summary: 'Name of an agent, or "self"' }],
    options: [],
    scope: "self_or_gateway",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: false,
    summary: "Show which model an agent uses; never its key",
    example: "fleetctl agents model show ada",
  },
  {
    path: ["agents", "remove"],
    args: [TARGET],
    options: [
      { name: "yes", summary: "Skip the confirmation" },
      {
        name: "home",
        value: "what",
        choices: ["keep", "archive"],
        summary: "Keep home and Unix user, locked (default), or archive the home and delete both",
      },
      {
        name: "secrets",
        value: "what",
        choices: ["remove", "keep"],
        summary: "Remove its secrets (default), or keep them for an agent of the same name",
      },
    ],
    scope: "operator",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    confirms: true,
    summary: "Remove an agent: units, rendered files, ledger record, secrets",
    example: "fleetctl agents remove ada --home archive",
  },
  {
    path: ["agents", "restart"],
    args: [{ name: "agent", summary: 'Name of an agent, or "self"' }],
    options: [],
    scope: "self",
    isHostJob: true,
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    summary: "Restart an agent, so that it reads its client config again",
    example: "fleetctl agents restart self",
  },
  {
    path: ["agents", "set"],
    args: [{ name: "name", summary: "Name of an agent" }],
    options: [
      { ...CHANNEL_OPTION, summary: "Where the owner talks to it" },
      { name: "user-email", value: "EMAIL", summary: "Login identity of its owner" },
      {
        name: "owner-aad",
        value: "object_id",
        summary: "Identity-provider object id of its owner",
      },
      { name: "owner-email", value: "EMAIL", summary: "Address of its owner" },
      { name: "runtime", value: "runtime", summary: "Runtime definition" },
      {
        name: "provider",
        value: "provider",
        summary: "Model provider; empty for the runtime's own",
      },
      { name: "model", value: "model", summary: "Model; empty for the runtime's own" },
      { ...WORKSPACE_OPTION, summary: `${WORKSPACE_OPTION.summary}; empty for the default` },
      { ...ASK_OPTION, summary: `${ASK_OPTION.summary}; empty for the runtime's default` },
      ...WORKTREE_OPTIONS,
      { ...CEILING_OPTION, summary: `${CEILING_OPTION.summary}; empty for none` },
      ...SANDBOX_OPTIONS,
      { ...PERSONA_OPTION, summary: `${PERSONA_OPTION.summary}; empty for none` },
      ...LIMIT_OPTIONS.map((option) => ({
        ...option,
        summary: `${option.summary}; empty for the host's default`,
      })),
      {
        name: "run-on",
        value: "hostname",
        summary: "This host, for an agent without one; move a pinned agent by an edit",
      },
    ],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Change the record of an agent",
    example: "fleetctl agents set ada --provider anthropic --model large-2",
  },
  {
    path: ["agents", "show"],
    args: [TARGET],
    options: [],
    scope: "self",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: false,
    summary: "Show an agent: its record, its state with the reason, its MCPs",
    example: "fleetctl agents show ada",
  },
  {
    path: ["agents", "start"],
    args: [TARGET],
    options: [],
    scope: "operator",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    summary: "Start an agent that was stopped",
    example: "fleetctl agents start ada",
  },
  {
    path: ["agents", "stop"],
    args: [TARGET],
    options: [],
    scope: "operator",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    summary: "Stop an agent until it is started again, even across apply and reboots",
    example: "fleetctl agents stop ada",
  },
  {
    path: ["browser", "status"],
    args: [{ name: "agent", summary: "Name of an agent" }],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: false,
    summary: "Check the gates of /browser/enter step by step",
    example: "fleetctl browser status ada",
    later: true,
  },
  {
    path: ["login"],
    args: [
      { name: "provider", summary: "Name of a provider" },
      { name: "agent", summary: 'Name of an agent, or "self"' },
    ],
    options: [
      { name: "status", summary: "Print logged-in or needs-login" },
      { name: "clear", summary: "Delete the local credential state" },
    ],
    scope: "self",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    summary: "Sign an agent in to a provider",
    example: "fleetctl login office-a self",
    later: true,
  },
  {
    path: ["turn"],
    args: [TARGET, { name: "text", secret: true, summary: 'The message; "-" reads stdin' }],
    options: [
      {
        name: "conversation",
        value: "NAME",
        summary: "Conversation of the turn; a new name begins one (default: default)",
      },
      {
        name: "file",
        value: "PATH",
        repeat: true,
        isFile: true,
        summary: 'Attach a file; "-" reads stdin; the model sees PNG, JPEG, GIF and WebP',
      },
    ],
    scope: "self",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    follows: true,
    summary: "Send a turn to an agent and stream its answer; Ctrl-C cancels the turn",
    example: "fleetctl turn ada 'what can you do'",
  },
  {
    path: ["acp"],
    args: [TARGET],
    options: [],
    scope: "self",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    follows: true,
    hasInput: true,
    summary: "Open an agent in an editor: the Agent Client Protocol on stdin and stdout",
    example: "fleetctl acp ada",
  },
  {
    path: ["terminal", "status"],
    args: [{ name: "agent", summary: "Name of an agent" }],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: false,
    summary: "Check the gates of /terminal/enter step by step",
    example: "fleetctl terminal status ada",
    later: true,
  },
  {
    path: ["usage"],
    ...LISTS_OF_AGENTS,
    options: [
      {
        name: "by",
        value: "key",
        choices: ["agent", "model", "day"],
        summary: "What each row sums (default agent)",
      },
      {
        name: "since",
        value: "when",
        summary: "From a span ago (7d) or a UTC time on (default 30d)",
      },
      { name: "until", value: "when", summary: "Before a span ago or a UTC time (default now)" },
    ],
    summary: "Show the tokens that agents used, and their cost at list prices",
    example: "fleetctl usage --by model --since 7d",
  },
];
