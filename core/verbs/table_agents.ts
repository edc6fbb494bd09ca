/**
 * Rows of the verb table: agents, their sign-ins and cockpit gates. Data only.
 *
 * @module
 */

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

/** Limits of an agent: those of its record; the host has a default for each. */
const LIMIT_OPTIONS: readonly Option[] = [
  { name: "memory-max", value: "SIZE", summary: "Memory it may take, such as 2G; 256M at least" },
  { name: "memory-high", value: "SIZE", summary: "Memory above which it is slowed down" },
  { name: "tasks-max", value: "N", summary: "Processes and threads, 128 at least" },
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
    summary: "Enroll a dial key, as after a revoke or for a second host",
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
      { name: "key", optional: true, summary: "The key; all of them when left out" },
    ],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Revoke dial keys and end the session of who proved them",
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
        summary: "Model provider; demo goes back to the built-in demo model",
      },
      { name: "model", value: "model", summary: "Model id in the provider's words" },
      {
        name: "base-url",
        value: "URL",
        summary: "Address of an openai-compatible endpoint, usually ending in /v1",
      },
      {
        name: "key",
        value: "key",
        secret: true,
        unless: ["no-key", "provider=demo"],
        summary: 'Key of the endpoint; "-" reads stdin, left out asks for it',
      },
      { name: "no-key", summary: "Ask for no key: keep that of the same endpoint, or use none" },
      { name: "no-check", summary: "Store without trying the endpoint" },
    ],
    scope: "self_or_gateway",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    summary: "Try a model, store its key for an agent, and restart the agent",
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
    summary: "Show which model an agent talks to; never its key",
    example: "fleetctl agents model show ada",
  },
  {
    path: ["agents", "remove"],
    args: [TARGET],
    options: [
      { name: "yes", summary: "Do not ask" },
      {
        name: "home",
        value: "what",
        choices: ["keep", "archive"],
        summary: "Leave home and Unix user, locked (default), or archive the home and delete both",
      },
      {
        name: "secrets",
        value: "what",
        choices: ["remove", "keep"],
        summary: "Take its secrets away (default), or leave them for an agent of the same name",
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
      { ...WORKSPACE_OPTION, summary: `${WORKSPACE_OPTION.summary}; empty for that` },
      ...LIMIT_OPTIONS.map((option) => ({
        ...option,
        summary: `${option.summary}; empty for the host's default`,
      })),
      {
        name: "run-on",
        value: "hostname",
        summary: "This host, for an agent that has none; a pinned one moves by an edit",
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
    summary: "Stop an agent until it is started again, whatever apply or a reboot does",
    example: "fleetctl agents stop ada",
  },
  {
    path: ["browser", "status"],
    args: [{ name: "agent", summary: "Name of an agent" }],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: false,
    summary: "Walk the gates of /browser/enter step by step",
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
    path: ["terminal", "status"],
    args: [{ name: "agent", summary: "Name of an agent" }],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: false,
    summary: "Walk the gates of /terminal/enter step by step",
    example: "fleetctl terminal status ada",
    later: true,
  },
];
