/**
 * Rows of the verb table: agents, their secrets, sign-ins and cockpit gates. Data only.
 *
 * @module
 */

import type { Option, Verb } from "core/verbs/verb.ts";

const OWNER_OPTIONS: readonly Option[] = [
  { name: "user-email", value: "EMAIL", summary: "Login identity that maps to this agent" },
  { name: "owner-aad", value: "object_id", summary: "Owner's identity-provider object id" },
  { name: "owner-email", value: "EMAIL", summary: "Owner's address" },
  { name: "runtime", value: "runtime", summary: "Runtime definition (default runtime-b)" },
  { name: "provider", value: "provider", summary: "Model provider" },
  { name: "model", value: "model", summary: "Model of that provider" },
];

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
    path: ["agents", "restart"],
    args: [{ name: "agent", summary: 'Name of an agent, or "self"' }],
    options: [],
    scope: "self",
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
      {
        name: "run-on",
        value: "hostname",
        summary: "Refused: an agent moves by an edit of the ledger",
      },
    ],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Change the record of an agent",
    example: "fleetctl agents set ada --provider anthropic --model large-2",
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
    path: ["secret", "get"],
    args: [{ name: "KEY", summary: "Name of the secret" }],
    options: [{ name: "agent", value: "name|self", summary: "Shard to read" }],
    scope: "self_or_host",
    target: { from: "option", name: "agent", absent: "caller_or_host" },
    runs: "root",
    mutates: false,
    summary: "Print one secret",
    example: "fleetctl secret get CODEHOST_TOKEN --agent self",
  },
  {
    path: ["secret", "set"],
    args: [{ name: "KEY", summary: "Name of the secret" }],
    options: [
      {
        name: "value",
        value: "value",
        secret: true,
        summary: 'The value; "-" reads stdin, left out asks for it',
      },
      { name: "agent", value: "name|self", summary: "Shard to write; the shared one without" },
    ],
    scope: "self_or_host",
    target: { from: "option", name: "agent", absent: "host" },
    runs: "root",
    mutates: true,
    summary: "Store one secret in an agent's shard or in the shared one",
    example: "fleetctl secret set CODEHOST_TOKEN --agent self",
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
