/**
 * The MCP entries of an agent's client config, and the edit that changes only fleetctl's entries.
 * No I/O. Two shapes: a project-scoped `mcpServers` in `~/.runtime-a.json`, the top-level
 * `mcpServers` of `~/.runtime-b/agent/mcp.json`.
 *
 * An entry is fleetctl's if its command is the proxy, or (http) if its name was recorded when it
 * was written. A client config contains no keys. An MCP by URL is reached through the proxy if it
 * needs a key or marks a tool. The gate then holds for every runtime.
 *
 * @module
 */

import { editHint } from "core/hints/edit_hint.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { refusal } from "core/errors.ts";
import type { AgentName, McpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import type { ClientConfigShape } from "core/runtimes/definition.ts";
import { proxyEnv } from "core/runtimes/mcp_entries.ts";
import { editJson, readJsonObject } from "units/render/json_edit.ts";
import { mcpSocketPath } from "units/render/mcp/socket.ts";

/** fleetctl's entries in an agent's client config. */
export interface ClientConfig {
  readonly agent: AgentName;
  readonly path: string;
  readonly shape: ClientConfigShape;
  /** Path of the entries inside the file. */
  readonly at: readonly string[];
  readonly entries: ReadonlyMap<McpName, Readonly<Record<string, unknown>>>;
}

/** Context of an entry. */
export interface ClientEntryContext {
  readonly paths: Paths;
  readonly agent: AgentName;
  readonly shape: ClientConfigShape;
}

const PLACEHOLDER = /\{[A-Z][A-Z0-9_]*\}/;
/** Path of the proxy under any root, so that a moved root still recognizes its entries. */
const PROXY_SUFFIX = "/usr/lib/fleetctl/fleetctl-mcp";

/** Renders the entry of one MCP. */
export function renderClientEntry(
  manifest: Manifest,
  context: ClientEntryContext,
): Readonly<Record<string, unknown>> {
  const exposure = context.shape === "runtime-b" ? renderExposure(manifest) : {};
  if (manifest.source.kind === "http" && !needsProxy(manifest)) {
    const { headers } = manifest;
    const plain = Object.keys(headers).length === 0 ? {} : { headers };
    return { type: "http", url: manifest.source.url, ...plain, ...exposure };
  }
  const owner = manifest.sharing === "per_user" ? context.agent : undefined;
  return {
    command: context.paths.program("fleetctl-mcp"),
    args: manifest.source.kind === "http"
      ? ["proxy", manifest.name, "--url"]
      : ["proxy", manifest.name, "--socket", mcpSocketPath(context.paths, manifest.name, owner)],
    env: proxyEnv(context.paths, context.agent),
    ...exposure,
  };
}

/**
 * Whether an MCP by URL has settings that a client entry cannot enforce: marks, keys or a sign-in.
 */
function needsProxy(manifest: Manifest): boolean {
  const { source, risk, auth, requiredEnv, userEnv, optionalEnv, headers } = manifest;
  const texts = [source.kind === "http" ? source.url : "", ...Object.values(headers)];
  return risk.size > 0 || auth !== "none" || texts.some((text) => PLACEHOLDER.test(text)) ||
    [requiredEnv, userEnv, optionalEnv].some((keys) => keys.length > 0);
}

/** Only runtime-b reads these keys, and neither is a security control. */
function renderExposure(manifest: Manifest): Readonly<Record<string, unknown>> {
  return {
    exposure: manifest.exposure,
    ...(manifest.toolExposure.size === 0
      ? {}
      : { toolExposure: Object.fromEntries(manifest.toolExposure) }),
  };
}

/** Facts about the entries of a client config that are not in its text. */
export interface KnownEntries {
  /** Names that fleetctl wrote before. */
  readonly recorded: ReadonlySet<string>;
  /** Names that are left unchanged. */
  readonly held: ReadonlySet<string>;
}

/**
 * Returns the new text of a client config: wanted entries of fleetctl set, its unwanted ones
 * removed, everything else unchanged byte for byte.
 */
export function editClientConfig(
  text: string | undefined,
  config: ClientConfig,
  known: KnownEntries,
): Result<string> {
  const present = readJsonObject(text, config.at);
  if (!present.ok) return unusable(config);
  const changes = new Map<string, unknown>();
  for (const [name, entry] of Object.entries(present.value)) {
    if (known.held.has(name)) continue;
    const isOwn = isOwnProxy(entry) || known.recorded.has(name);
    const wanted = config.entries.get(name as McpName);
    if (isOwn && wanted === undefined) changes.set(name, undefined);
    if (!isOwn && wanted !== undefined) return entryConflict(config, name);
  }
  for (const [name, entry] of config.entries) changes.set(name, entry);
  const edited = editJson(text, config.at, changes);
  return edited.ok ? ok(edited.value) : unusable(config);
}

function isOwnProxy(entry: unknown): boolean {
  const command = (entry as { command?: unknown } | null)?.command;
  return typeof command === "string" && command.endsWith(PROXY_SUFFIX);
}

function unusable(config: ClientConfig): Result<never> {
  return err(refusal(
    "client-config-invalid",
    `Cannot edit ${JSON.stringify(config.path)} of agent ${JSON.stringify(config.agent)}: ` +
      "its MCP entries are not a JSON object, must be valid JSON",
    { hints: [editHint(config.path)] },
  ));
}

function entryConflict(config: ClientConfig, name: string): Result<never> {
  return err(refusal(
    "client-entry-foreign",
    `Cannot wire MCP ${JSON.stringify(name)} for agent ${JSON.stringify(config.agent)}: ` +
      `${JSON.stringify(config.path)} has an entry of that name that fleetctl did not create, ` +
      "must be renamed or removed first",
    { hints: [`fleetctl mcp remove ${name} ${config.agent}`] },
  ));
}
