/**
 * The rules of the runtime permission gate: which tools of one MCP are blocked, and which need a
 * human's approval. No I/O. `units/render/mcp/gate.ts` prints the file
 * `/etc/fleetctl/gate/<mcp>.json`, and this module parses it. If the file cannot be parsed, every
 * call is refused.
 *
 * @module
 */

import { endpointOf, type EndpointTemplate } from "core/catalog/endpoint.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { type McpName, parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";

/** The effect of a rule on a call. A tool without a rule is allowed. */
export type Risk = "block" | "ask";

/** The rules of one MCP at one pinned version. */
export interface Gate {
  readonly mcp: McpName;
  /** The pinned version; for a source without versions, its kind. */
  readonly version: string;
  readonly rules: ReadonlyMap<string, Risk>;
  /** Tools that the reviewed catalog declares read-only, by their exact names. */
  readonly reads: ReadonlySet<string>;
  /** URL template of an MCP that is reached by URL; without its keys. */
  readonly endpoint?: EndpointTemplate;
  /**
   * Tool → hash of the definition that an operator accepted. When present, a running server may
   * list only these tools. Absent when nothing is locked.
   */
  readonly accepted?: ReadonlyMap<string, string>;
  /** Names in `rules` that are blocked only until their review; `*` for the whole MCP. */
  readonly held?: ReadonlySet<string>;
  /** After this time the proxy closes an idle connection, so that the server stops. */
  readonly idleStopSeconds: number | undefined;
}

/** Largest gate file: two thousand tools with long names. */
const GATE_BYTES_MAX = 512 * 1024;
const KNOWN_KEYS: readonly string[] = [
  "mcp",
  "version",
  "rules",
  "reads",
  "endpoint",
  "accepted",
  "held",
  "idle_stop_seconds",
];

/** Returns the rules that a manifest declares. */
export function gateOf(manifest: Manifest): Gate {
  const endpoint = endpointOf(manifest);
  return {
    mcp: manifest.name,
    version: "version" in manifest.source ? manifest.source.version : manifest.source.kind,
    rules: manifest.risk,
    reads: manifest.readOnly,
    ...defined({ endpoint, accepted: manifest.acceptedTools }),
    ...(manifest.heldTools === undefined ? {} : { held: new Set(manifest.heldTools) }),
    idleStopSeconds: manifest.limits.idleStopSeconds,
  };
}

/** Parses the text of a rendered gate file for `mcp`. */
export function parseGate(text: string, mcp: string): Result<Gate> {
  const bad = (state: string) =>
    err(refusal(
      "gate-invalid",
      `Cannot use the permission gate of MCP ${JSON.stringify(mcp)}: ${state}`,
      { hints: ["fleetctl apply"] },
    ));
  if (text.length > GATE_BYTES_MAX) return bad(`the file is larger than ${GATE_BYTES_MAX} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return bad("the file is not valid JSON");
  }
  if (!isRecord(value)) return bad("the file is not a JSON object");
  const unknown = Object.keys(value).find((key) => !KNOWN_KEYS.includes(key));
  if (unknown !== undefined) return bad(`the file has the unknown key ${JSON.stringify(unknown)}`);
  const name = typeof value["mcp"] === "string" ? parseMcpName(value["mcp"]) : undefined;
  if (name?.ok !== true || name.value !== mcp) return bad("the file is that of another MCP");
  if (typeof value["version"] !== "string") return bad("the file has no version");
  const idle = value["idle_stop_seconds"];
  if (idle !== undefined && !(Number.isInteger(idle) && Number(idle) > 0)) {
    return bad("idle_stop_seconds is not a whole number above 0");
  }
  const rules = parseRules(value["rules"]);
  if (rules === undefined) return bad('a rule is neither "block" nor "ask"');
  const endpoint = parseEndpoint(value["endpoint"]);
  if (endpoint === "bad") return bad("endpoint has no url, headers or optional");
  const reads = value["reads"] ?? [];
  if (!Array.isArray(reads) || !reads.every((tool) => typeof tool === "string")) {
    return bad("reads is not a list of names");
  }
  const accepted = parseHashes(value["accepted"] ?? {});
  if (accepted === undefined) return bad("accepted does not name a hash for each tool");
  const held = value["held"] ?? [];
  if (!Array.isArray(held) || !held.every((tool) => rules.get(tool) === "block")) {
    return bad("held names a tool that no rule blocks");
  }
  return ok({
    mcp: name.value,
    version: value["version"],
    rules,
    reads: new Set(reads),
    ...defined({ endpoint }),
    ...(value["accepted"] === undefined ? {} : { accepted }),
    ...(held.length === 0 ? {} : { held: new Set(held) }),
    idleStopSeconds: idle === undefined ? undefined : Number(idle),
  });
}

function parseEndpoint(value: unknown): EndpointTemplate | "bad" | undefined {
  if (value === undefined) return undefined;
  if (!isRecord(value) || typeof value["url"] !== "string") return "bad";
  const { url, headers, optional } = value;
  if (!isRecord(headers) || !Array.isArray(optional)) return "bad";
  const texts = [...Object.values(headers), ...optional];
  if (!texts.every((text) => typeof text === "string")) return "bad";
  return { url, headers: headers as EndpointTemplate["headers"], optional };
}

function parseRules(value: unknown): ReadonlyMap<string, Risk> | undefined {
  if (!isRecord(value)) return undefined;
  const rules = new Map<string, Risk>();
  for (const [tool, risk] of Object.entries(value)) {
    if (risk !== "block" && risk !== "ask") return undefined;
    rules.set(tool, risk);
  }
  return rules;
}

function parseHashes(value: unknown): ReadonlyMap<string, string> | undefined {
  if (!isRecord(value)) return undefined;
  const pairs = Object.entries(value);
  return pairs.every((pair): pair is [string, string] => typeof pair[1] === "string")
    ? new Map(pairs)
    : undefined;
}
