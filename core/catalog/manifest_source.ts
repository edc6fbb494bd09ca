/**
 * The `source` and `integrity` blocks of a manifest. A source has exactly one kind: `npm:
 * pkg@1.2.3`, `uvx: pkg==1.2.3`, `builtin: name` or `http: url`. No I/O.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { FieldReader } from "core/text/field_reader.ts";
import type { Manifest, Source } from "core/catalog/manifest.ts";
import { parseNpmPin, parsePythonPin } from "core/catalog/pin.ts";
import type { KeyName } from "core/names.ts";
import type { Result } from "core/result.ts";

/** Servers that are part of the product, started as `fleetctl-mcp serve <name>`. */
export const BUILTIN_SERVERS = ["agent-message", "messenger", "teamchat", "workchat"] as const;
/** One of `BUILTIN_SERVERS`. */
export type BuiltinServer = typeof BUILTIN_SERVERS[number];

/** File name of the lock beside a manifest, by kind of source. */
export const LOCK_FILES = { npm: "deno.lock", uvx: "requirements.lock" } as const;

const SOURCE_KINDS = ["npm", "uvx", "builtin", "http"] as const;
/** The strongest hash that the npm registry publishes; weaker ones are refused. */
const PACKAGE_INTEGRITY = /^sha512-[A-Za-z0-9+/]{86}==$/;
const HASH = /^sha256-[A-Za-z0-9+/]{43}=$/;
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;
const WRITTEN_OUT = /^[a-z]+:\/\/([^/?#\\\s]+)(?:$|[/?#])[^\\\s]*$/i;
const PLACEHOLDER = /\{([^{}]*)\}/g;

/** Reads the `source` block and the hashes of the `integrity` block. */
export function parseSource(
  read: FieldReader,
  declared: readonly KeyName[],
):
  | Pick<Manifest, "source" | "integrity" | "lockIntegrity" | "treeIntegrity">
  | undefined {
  read.onlyKeys(["source"], SOURCE_KINDS);
  const kinds = SOURCE_KINDS.filter((kind) => read.has(["source", kind]));
  const [kind] = kinds;
  const hashes = readIntegrity(read);
  if (kind === undefined || kinds.length > 1) {
    if (read.has(["source"])) {
      read.fault(["source"], `names ${kinds.length} kinds, must name exactly one`);
    }
    return undefined;
  }
  const text = read.string(["source", kind], (value) => checkSource(kind, value, declared));
  return text === undefined ? undefined : { source: toSource(kind, text), ...hashes };
}

function readIntegrity(read: FieldReader) {
  read.onlyKeys(["integrity"], ["package", "lock", "tree"]);
  const hash = (key: string, rule: RegExp, form: string) =>
    read.string(["integrity", key], (text) => rule.test(text) ? undefined : `must be ${form}`);
  const integrity = hash("package", PACKAGE_INTEGRITY, "sha512- and 64 bytes in base64");
  const lockIntegrity = hash("lock", HASH, "sha256- and 32 bytes in base64");
  const treeIntegrity = hash("tree", HASH, "sha256- and 32 bytes in base64");
  return defined({ integrity, lockIntegrity, treeIntegrity });
}

function checkSource(
  kind: Source["kind"],
  text: string,
  declared: readonly KeyName[],
): string | undefined {
  switch (kind) {
    case "npm":
      return wantedOf(parseNpmPin(text));
    case "uvx":
      return wantedOf(parsePythonPin(text));
    case "builtin":
      return (BUILTIN_SERVERS as readonly string[]).includes(text)
        ? undefined
        : `must be one of ${BUILTIN_SERVERS.join(", ")}`;
    case "http":
      return checkUrl(text, declared);
  }
}

/** Returns the form that a refused pin must have: its message after the last ": ". */
function wantedOf(result: Result<unknown>): string | undefined {
  if (result.ok) return undefined;
  return result.error.message.split(": ").at(-1);
}

/**
 * Checks the URL of an http source. `{KEY}` may appear in the path or the query, never in the host:
 * a secret must not choose the server.
 */
function checkUrl(text: string, declared: readonly KeyName[]): string | undefined {
  for (const [, name = ""] of text.matchAll(PLACEHOLDER)) {
    if (!(declared as readonly string[]).includes(name)) {
      return `contains {${name}}, must declare the key in required_env, user_env or optional_env`;
    }
  }
  if (!URL.canParse(text.replace(PLACEHOLDER, "x"))) return "must be an absolute URL";
  const url = new URL(text.replace(PLACEHOLDER, "x"));
  // A URL parser reads `https:/x` and `https:\\x` as `https://x`, so the host is checked as
  // written.
  const authority = WRITTEN_OUT.exec(text)?.[1];
  if (authority === undefined) return "must begin with https:// and a host";
  if (authority.includes("{")) return "must have no placeholder in its host";
  if (url.username !== "" || url.password !== "") return "must not contain a user or password";
  if (url.hash !== "") return "must have no fragment";
  if (url.protocol === "https:") return undefined;
  return url.protocol === "http:" && LOOPBACK.test(url.hostname)
    ? undefined
    : "must use https (http only to loopback)";
}

function toSource(kind: Source["kind"], text: string): Source {
  if (kind === "builtin") return { kind, name: text };
  if (kind === "http") return { kind, url: text };
  const at = kind === "npm" ? text.lastIndexOf("@") : text.indexOf("==");
  return {
    kind,
    package: text.slice(0, at),
    version: text.slice(at + (kind === "npm" ? 1 : 2)),
  };
}
