/**
 * Branded names with one parser each, so that a checked name cannot be confused with raw text.
 * Agents use the grammar of Linux user names, because an agent is a Unix user. Hosts use RFC 1123
 * labels. No I/O.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

declare const brand: unique symbol;
type Branded<B extends string> = string & { readonly [brand]: B };

/** Name of an agent and of its Unix user: `ada`. */
export type AgentName = Branded<"AgentName">;
/** Name of a catalog entry: `code-host`. */
export type McpName = Branded<"McpName">;
/** Name of a secret or an environment variable: `CODEHOST_TOKEN`. */
export type KeyName = Branded<"KeyName">;
/** A lowercase hostname, never an IP address: `atlas` or `atlas.example.org`. */
export type HostName = Branded<"HostName">;
/** A lowercase, trimmed login identity: `mia@example.org`. */
export type Email = Branded<"Email">;
/** A lowercase identity-provider object id (GUID). */
export type ObjectId = Branded<"ObjectId">;

/** Longest accepted e-mail address in bytes (RFC 5321, path limit less the brackets). */
const EMAIL_LENGTH_MAX = 254;
const AGENT_NAME = /^[a-z][a-z0-9-]{0,30}$/;
const MCP_NAME = /^[a-z][a-z0-9-]{0,30}$/;
const KEY_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;
const HOST_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const EMAIL = /^[^\s@"(),:;<>[\]\\]+@[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;
const OBJECT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Agent names that clash with words of the command line or with system accounts. */
const RESERVED_AGENT_NAMES: ReadonlySet<string> = new Set([
  "self",
  "root",
  "shared",
  "all",
  "fleetctl",
  "fleetctl-gateway",
  "fleetctl-host",
  "fleetctl-login",
  "fleetctl-teamchat",
  "fleetctl-teamchat-receiver",
]);

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

function bad(what: string, text: string, wanted: string): Result<never> {
  return err(
    refusal("name-invalid", `Cannot use ${shown(text)} as ${what}: ${wanted}`, { kind: "usage" }),
  );
}

/** Parses an agent name; refuses reserved words such as `self`. */
export function parseAgentName(text: string): Result<AgentName> {
  if (!AGENT_NAME.test(text)) {
    return bad(
      "an agent name",
      text,
      "must start with a lowercase letter and contain at most 31 of a-z, 0-9 and -",
    );
  }
  if (RESERVED_AGENT_NAMES.has(text)) return bad("an agent name", text, "the word is reserved");
  return ok(text as AgentName);
}

/** Parses the name of a catalog entry. */
export function parseMcpName(text: string): Result<McpName> {
  return MCP_NAME.test(text) ? ok(text as McpName) : bad(
    "an MCP name",
    text,
    "must start with a lowercase letter and contain at most 31 of a-z, 0-9 and -",
  );
}

/** Parses the name of a secret or environment variable. */
export function parseKeyName(text: string): Result<KeyName> {
  return KEY_NAME.test(text) ? ok(text as KeyName) : bad(
    "a key name",
    text,
    "must start with an uppercase letter and contain at most 64 of A-Z, 0-9 and _",
  );
}

/** Parses a hostname; trims and lowercases it; refuses IP addresses. */
export function parseHostName(text: string): Result<HostName> {
  const name = text.trim().toLowerCase().replace(/\.$/, "");
  // Resolvers read a name that ends in a number as an address: 10.1, 0x7f.1 (WHATWG URL, 4.1).
  if (/(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$/.test(name) || name.includes(":")) {
    return bad("a hostname", text, "must be a hostname, not an IP address");
  }
  const labels = name.split(".");
  return name.length <= 253 && labels.every((label) => HOST_LABEL.test(label))
    ? ok(name as HostName)
    : bad("a hostname", text, "must be labels of a-z, 0-9 and -, joined by dots");
}

/** Parses a login identity; trims and lowercases it. */
export function parseEmail(text: string): Result<Email> {
  const email = text.trim().toLowerCase();
  return email.length <= EMAIL_LENGTH_MAX && EMAIL.test(email)
    ? ok(email as Email)
    : bad("an e-mail address", text, "must have the form name@domain");
}

/** Parses an identity-provider object id; trims and lowercases it. */
export function parseObjectId(text: string): Result<ObjectId> {
  const id = text.trim().toLowerCase();
  return OBJECT_ID.test(id)
    ? ok(id as ObjectId)
    : bad("an object id", text, "must be a GUID such as 8f2c…-…");
}

/**
 * Returns the requirement that a text breaks ("must be …"), or undefined when `parse` accepts it.
 * For readers of files and settings, which name the location and print the value themselves.
 */
export function nameFault(
  parse: (text: string) => Result<unknown>,
  text: string,
): string | undefined {
  const parsed = parse(text);
  if (parsed.ok) return undefined;
  // The format is `Cannot use "…" as …: must …`. Only the quoted text can contain a colon, so take
  // what follows the last one.
  return parsed.error.message.slice(parsed.error.message.lastIndexOf(": ") + 2);
}
