/**
 * Converts the official registry's `server.json` into what `mcp catalog add` needs. Format: schema
 * 2025-12-11 of the MCP registry. Neither the registry nor this parser allows version ranges. The
 * registry checks no hashes, so the package is locked and hashed here like any other. No I/O.
 *
 * @module
 */

import { type PackageSource, parsePin, printPin } from "core/catalog/pin.ts";
import { KEY_NAME } from "core/catalog/dry_start.ts";
import {
  changesRouting,
  changesStart,
  holdsPassword,
  settingFault,
} from "core/catalog/settings.ts";
import { refusal } from "core/errors.ts";
import { isRecord, parseJsonObject } from "core/text/json_object.ts";
import { parseKeyName, parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";

/** An entry that a `server.json` describes. */
export interface ImportedServer {
  /** Last part of its reverse-DNS name, converted to an entry name. */
  readonly name: string;
  readonly summary: string;
  readonly source: { readonly pin: PackageSource } | { readonly url: string };
  readonly args: readonly string[];
  readonly requiredEnv: readonly string[];
  readonly optionalEnv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Largest document that is read. */
export const SERVER_JSON_BYTES_MAX = 1024 * 1024;
/** Package kinds of the registry and their kinds here, in order of preference. */
const PACKAGE_KINDS = [["npm", "npm"], ["pypi", "uvx"]] as const;
const REVERSE_DNS_NAME = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;

type Plain = Readonly<Record<string, unknown>>;

/** Parses a document, or the `server` of a registry's answer. */
export function parseServerJson(text: string): Result<ImportedServer> {
  const bad = (state: string) =>
    err(refusal("server-json-invalid", `Cannot import the server: ${state}`));
  const document = parseJsonObject(text);
  const server = isRecord(document?.["server"]) ? document["server"] : document;
  if (server === undefined) return bad("the document is not a JSON object");
  const fullName = server["name"];
  if (typeof fullName !== "string" || !REVERSE_DNS_NAME.test(fullName)) {
    return bad('its "name" is not of the form org.example/server');
  }
  const version = server["version"];
  if (typeof version !== "string") return bad('it has no "version"');
  const name = entryName(fullName);
  if (name === undefined) {
    return bad(`${JSON.stringify(fullName)} cannot be converted to an entry name`);
  }
  const about = {
    name,
    summary: typeof server["description"] === "string" ? server["description"] : "",
  };
  const packages = recordsIn(server["packages"]);
  for (const [type, kind] of PACKAGE_KINDS) {
    const found = packages.find((one) => one["registryType"] === type);
    if (found !== undefined) return fromPackage(kind, found, about);
  }
  const remote = recordsIn(server["remotes"])
    .find((one) => one["type"] === "streamable-http" || one["type"] === "http");
  if (remote !== undefined) return fromRemote(remote, about);
  const kinds = packages.map((one) => String(one["registryType"])).join(", ") || "none";
  return bad(
    `it has packages of kind ${kinds}, must have an npm or a PyPI package or a streamable-http ` +
      "remote",
  );
}

type About = Pick<ImportedServer, "name" | "summary">;

function fromPackage(
  kind: PackageSource["kind"],
  one: Plain,
  about: About,
): Result<ImportedServer> {
  const named = { package: String(one["identifier"]), version: String(one["version"]) };
  const pin = parsePin(kind, printPin({ kind, ...named }));
  if (!pin.ok) return pin;
  const transport = isRecord(one["transport"]) ? one["transport"]["type"] : "stdio";
  if (transport !== "stdio") {
    return err(refusal(
      "server-json-invalid",
      `Cannot import the server: its package uses transport ${
        JSON.stringify(transport)
      }, must be "stdio"`,
    ));
  }
  const keys = readKeys(one["environmentVariables"]);
  if (!keys.ok) return keys;
  const args = recordsIn(one["packageArguments"]).flatMap((each) => {
    const value = each["value"] ?? each["default"];
    if (typeof value !== "string") return [];
    return each["type"] === "named" && typeof each["name"] === "string"
      ? [each["name"], value]
      : [value];
  });
  if (args.some(holdsPassword)) {
    return err(refusal(
      "server-json-invalid",
      "Cannot import the server: one of its arguments contains a URL with a password",
    ));
  }
  return ok({ ...about, source: { pin: pin.value }, args, ...keys.value });
}

function fromRemote(remote: Plain, about: About): Result<ImportedServer> {
  const url = typeof remote["url"] === "string" ? remote["url"] : "";
  return ok({
    ...about,
    source: { url },
    args: [],
    requiredEnv: [],
    optionalEnv: [],
    environment: {},
  });
}

function readKeys(value: unknown) {
  const requiredEnv: string[] = [];
  const optionalEnv: string[] = [];
  const environment: Record<string, string> = {};
  for (const one of recordsIn(value)) {
    const name = String(one["name"]);
    const fixed = one["value"] ?? one["default"];
    if (changesStart(name)) return badVariable(name, "changes how it is started");
    if (changesRouting(name)) return badVariable(name, "changes how its requests are routed");
    const isKey = one["isSecret"] === true || KEY_NAME.test(name);
    if (!isKey && typeof fixed === "string" && fixed !== "") {
      const fault = settingFault(name, fixed);
      if (fault !== undefined) return badVariable(name, fault);
      environment[name] = fixed;
      continue;
    }
    const key = parseKeyName(name);
    if (!key.ok) return key;
    (one["isRequired"] === true ? requiredEnv : optionalEnv).push(key.value);
  }
  return ok({ requiredEnv, optionalEnv, environment });
}

function badVariable(name: string, state: string): Result<never> {
  return err(refusal(
    "server-json-invalid",
    `Cannot import the server: its variable ${JSON.stringify(name.slice(0, 120))} ${state}`,
  ));
}

function entryName(fullName: string): string | undefined {
  const last = fullName.split("/").at(-1) ?? "";
  const name = last.toLowerCase().replace(/[^a-z0-9-]+/g, "-").replace(/^[^a-z]+/, "").slice(0, 31);
  const parsed = parseMcpName(name.replace(/-+$/, ""));
  return parsed.ok ? parsed.value : undefined;
}

function recordsIn(value: unknown): readonly Plain[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
