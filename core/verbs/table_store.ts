/**
 * Rows of the verb table: the host's stored data and its history: markers, defaults, ledger,
 * secrets. Data only.
 *
 * @module
 */

import type { Verb } from "core/verbs/verb.ts";

type Row = Omit<Verb, "args" | "options" | "runs" | "mutates" | "scope"> & Partial<Verb>;

/**
 * Builds the row of an operator's verb that changes the host; fields of `row` override the
 * defaults.
 */
function operatorRow(row: Row): Verb {
  return { args: [], options: [], scope: "operator", runs: "root", mutates: true, ...row };
}

const KEY = { name: "KEY", summary: "Name of the secret" } as const;
const MARKER = {
  name: "marker",
  choices: ["webview_gateway", "teams_gateway", "dial_require_key"],
  summary: "Name of a marker, or of the switch dial_require_key",
} as const;

/** Verbs about markers, defaults and the ledger. */
const LEDGER_ROWS: readonly Verb[] = [
  operatorRow({
    path: ["defaults", "add", "tools"],
    args: [{ name: "mcp", summary: "Name of a catalog entry" }],
    summary: "Give an MCP to every agent of this host, from the next apply on",
    example: "fleetctl defaults add tools git",
  }),
  operatorRow({
    path: ["defaults", "list", "tools"],
    mutates: false,
    summary: "List the default MCPs of this host's agents",
    example: "fleetctl defaults list tools",
  }),
  operatorRow({
    path: ["defaults", "remove", "tools"],
    args: [{ name: "mcp", summary: "Name of an MCP that was added" }],
    summary: "Remove an MCP from the host's own additions, from the next apply on",
    example: "fleetctl defaults remove tools git",
  }),
  operatorRow({
    path: ["host", "key", "enroll"],
    args: [
      { name: "hostname", summary: "Name of a host" },
      { name: "key", summary: "The public key: 43 characters of base64url" },
    ],
    summary: "Enroll the dial key of a host, after a revoke or for another ledger's host",
    example: "fleetctl host key enroll boreas 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
  }),
  operatorRow({
    path: ["host", "key", "list"],
    mutates: false,
    summary: "List the dial keys of hosts, and which is this host's own",
    example: "fleetctl host key list",
  }),
  operatorRow({
    path: ["host", "key", "revoke"],
    args: [
      { name: "hostname", summary: "Name of a host" },
      { name: "key", optional: true, summary: "The key; all keys if omitted" },
    ],
    summary: "Revoke dial keys of a host and end the sessions that used them",
    example: "fleetctl host key revoke boreas",
  }),
  operatorRow({
    path: ["host", "list"],
    mutates: false,
    summary: "List the markers of this host and what they mean for it",
    example: "fleetctl host list",
  }),
  operatorRow({
    path: ["host", "set"],
    args: [MARKER, {
      name: "hostname",
      summary: "A hostname, never an address; wss://<hostname> for a webview gateway behind TLS; " +
        "true or false for dial_require_key",
    }],
    summary: "Set a marker of this host",
    example: "fleetctl host set webview_gateway atlas",
  }),
  operatorRow({
    path: ["host", "unset"],
    args: [MARKER],
    summary: "Remove a marker of this host",
    example: "fleetctl host unset webview_gateway",
  }),
  operatorRow({
    path: ["ledger", "log"],
    mutates: false,
    options: [
      { name: "agent", value: "name", summary: "Only changes of this agent's shard" },
      { name: "limit", value: "n", summary: "Number of newest entries (default 50)" },
    ],
    summary: "List the changes of the ledger: when, who, by which verb, which files",
    example: "fleetctl ledger log --agent ada",
  }),
  operatorRow({
    path: ["ledger", "revert"],
    args: [{ name: "commit", summary: "A change that ledger log names" }],
    summary: "Revert one change by a new one; never changes secrets",
    example: "fleetctl ledger revert 4f2a9c1",
  }),
];

/** Verbs about secrets. */
const SECRET_ROWS: readonly Verb[] = [
  {
    path: ["secret", "get"],
    args: [KEY],
    options: [{ name: "agent", value: "name|self", summary: "Shard to read" }],
    scope: "self_or_host",
    target: { from: "option", name: "agent", absent: "caller_or_host" },
    runs: "root",
    mutates: false,
    summary: "Print one secret",
    example: "fleetctl secret get CODEHOST_TOKEN --agent self",
  },
  {
    path: ["secret", "list"],
    args: [],
    options: [{ name: "agent", value: "name|self", summary: "Only what this agent gets" }],
    scope: "self_or_host",
    target: { from: "option", name: "agent", absent: "caller_or_host" },
    runs: "root",
    mutates: false,
    summary: "List the secrets: location, fingerprint, last change; never a value",
    example: "fleetctl secret list --agent self",
  },
  operatorRow({
    path: ["secret", "recover"],
    options: [{
      name: "key",
      value: "key",
      secret: true,
      summary: 'The recovery key; "-" reads its file from stdin; prompted for if omitted',
    }, {
      name: "copy",
      value: "FILE",
      summary: "Restore a sealed copy of a fleet to this host, which has no agents yet",
    }],
    summary: "Give this host a new key after its own was lost, with the recovery key",
    example: "fleetctl secret recover --key - < recovery.key",
  }),
  operatorRow({
    path: ["secret", "recovery", "add"],
    args: [{
      name: "recipient",
      optional: true,
      summary: "Recipient of an existing key; if omitted, a key is generated and printed once",
    }],
    summary: "Add an offline recovery key",
    example: "fleetctl secret recovery add > recovery.key",
  }),
  operatorRow({
    path: ["secret", "recovery", "copy"],
    mutates: false,
    summary: "Print a copy of ledger, secrets and settings that only the recovery key opens",
    example: "fleetctl secret recovery copy > fleet.age",
  }),
  operatorRow({
    path: ["secret", "rewrap"],
    summary: "Encrypt the secret store to every recipient of the ledger",
    example: "fleetctl secret rewrap",
  }),
  operatorRow({
    path: ["secret", "rotate"],
    args: [{
      name: "what",
      choices: ["hmac", "assertion", "host-op", "recipient"],
      summary: "Which keys of the host",
    }],
    options: [{
      name: "revoke",
      summary: "Invalidate what the old key signed; without it, the old key still verifies",
    }],
    summary: "Replace a key of this host and render what reads it",
    example: "fleetctl secret rotate hmac --revoke",
  }),
  {
    path: ["secret", "set"],
    args: [KEY],
    options: [
      {
        name: "value",
        value: "value",
        secret: true,
        summary: 'The value; "-" reads stdin; prompted for if omitted',
      },
      { name: "agent", value: "name|self", summary: "Shard to write; the shared one if omitted" },
    ],
    scope: "self_or_host",
    target: { from: "option", name: "agent", absent: "host" },
    runs: "root",
    mutates: true,
    summary: "Store one secret in an agent's shard or in the shared one",
    example: "fleetctl secret set CODEHOST_TOKEN --agent self",
  },
  {
    path: ["secret", "unset"],
    args: [KEY],
    options: [
      { name: "agent", value: "name|self", summary: "Shard to change; the shared one if omitted" },
    ],
    scope: "self_or_host",
    target: { from: "option", name: "agent", absent: "host" },
    runs: "root",
    mutates: true,
    summary: "Remove one secret from an agent's shard or the shared one",
    example: "fleetctl secret unset CODEHOST_TOKEN --agent self",
  },
];

/** All verbs about stored data. */
export const STORE_VERBS: readonly Verb[] = [...LEDGER_ROWS, ...SECRET_ROWS];
