/**
 * `tools.lock`, beside a manifest: the hash and text of each tool definition that an operator has
 * accepted, and the changes of an upgrade that await a review. No I/O.
 *
 * The hash of a definition is over canonical JSON (RFC 8785 order of keys). So a server that only
 * reorders its tools or keys has not changed them.
 *
 * @module
 */

import { hashText } from "core/catalog/lock.ts";
import { EVERY_TOOL, PERMISSION_KINDS } from "core/catalog/manifest_rules.ts";
import type { ServerPermissions } from "core/catalog/manifest.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { isRecord } from "core/text/json_object.ts";
import { err, ok, type Result } from "core/result.ts";

/** One tool as the server listed it. */
export interface LockedTool {
  readonly hash: string;
  readonly definition: Readonly<Record<string, unknown>>;
  /** Accepted from an agent's running server; a try without real keys may list it differently. */
  readonly running?: true;
}

/** Changes that are held back until a review. */
export interface HeldBack {
  /** Tool → its widened definition and the reasons. */
  readonly tools: ReadonlyMap<string, LockedTool & { readonly why: readonly string[] }>;
  /** Permissions that the server requested and does not have. */
  readonly permissions: Partial<Record<keyof ServerPermissions, readonly string[]>>;
  /**
   * Findings in the package's code, or that the package could not be tried out. Any finding holds
   * back the whole MCP.
   */
  readonly findings: readonly string[];
}

/** The whole file. */
export interface ToolLock {
  readonly version: string;
  /** The tools accepted last; if this version could not be tried out, those of the previous one. */
  readonly tools: ReadonlyMap<string, LockedTool>;
  readonly held: HeldBack;
  /** When it was held back, ISO 8601; not part of what a review accepts. */
  readonly heldSince?: string;
}

/** Nothing is held back. */
export const NOTHING_HELD: HeldBack = { tools: new Map(), permissions: {}, findings: [] };

/** Much larger than for a manifest: the largest known server has a megabyte of definitions. */
const TEXT_LENGTH_MAX = 16 * 1024 * 1024;
const TOOLS_MAX = 2000;

/** Returns JSON with sorted keys and no spaces. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const pairs = Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
      .map(([key, one]) => `${JSON.stringify(key)}:${canonicalJson(one)}`);
    return `{${pairs.join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/**
 * Returns the hash of one definition without `execution`. That key says whether a call may run as a
 * task, and only the older of the two protocol revisions has it.
 */
export async function toolHash(definition: Readonly<Record<string, unknown>>): Promise<string> {
  const { execution: _, ...rest } = definition;
  return await hashText(canonicalJson(rest));
}

/**
 * Locks the definitions that a server lists, sorted by name. Refuses a name that is listed twice.
 */
export async function lockTools(
  definitions: readonly Readonly<Record<string, unknown>>[],
): Promise<Result<ReadonlyMap<string, LockedTool>>> {
  const tools = new Map<string, LockedTool>();
  for (const definition of definitions) {
    const name = String(definition["name"]);
    if (tools.has(name)) {
      return err(refusal(
        "tools-ambiguous",
        `Cannot lock the tools of the server: it lists ${JSON.stringify(name.slice(0, 80))} twice`,
      ));
    }
    tools.set(name, { hash: await toolHash(definition), definition });
  }
  return ok(new Map([...tools].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)));
}

/** Tells whether anything awaits a review. */
export function isHeld(held: HeldBack): boolean {
  return held.tools.size > 0 || held.findings.length > 0 ||
    Object.values(held.permissions).some((list) => list.length > 0);
}

/**
 * Returns the tools that may not be called: those held back, or `*` if there is a finding. `*` also
 * covers tools that the server answers but does not list.
 */
export function heldTools(lock: ToolLock): readonly string[] {
  return lock.held.findings.length > 0 ? [EVERY_TOOL] : [...lock.held.tools.keys()].sort();
}

/** Returns the accepted tools whose definition claims to be read-only. */
export function readOnlyTools(lock: ToolLock): readonly string[] {
  return [...lock.tools].flatMap(([name, { definition }]) => {
    const hints = definition["annotations"];
    return isRecord(hints) && hints["readOnlyHint"] === true ? [name] : [];
  });
}

/** Returns the hash that a review accepts: over the version and everything held back. */
export async function reviewHash(lock: ToolLock): Promise<string> {
  const { version, held } = lock;
  return await hashText(canonicalJson({ version, held: plainHeld(held) }));
}

/** Returns the lock after its review: everything held back is accepted. */
export function acceptHeld(lock: ToolLock): ToolLock {
  const merged = new Map(lock.tools);
  for (const [name, { why: _, ...locked }] of lock.held.tools) merged.set(name, locked);
  const tools = new Map([...merged].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0));
  return { version: lock.version, tools, held: NOTHING_HELD };
}

function plainHeld(held: HeldBack) {
  return {
    tools: Object.fromEntries(held.tools),
    permissions: held.permissions,
    findings: held.findings,
  };
}

/** Prints the file, one tool per line, so that a change reads well in a diff. */
export function printToolLock(lock: ToolLock): string {
  const line = (map: ReadonlyMap<string, unknown>) =>
    [...map].map(([name, tool]) => `    ${JSON.stringify(name)}: ${canonicalJson(tool)}`)
      .join(",\n");
  const block = (map: ReadonlyMap<string, unknown>) =>
    map.size === 0 ? "{}" : `{\n${line(map)}\n  }`;
  const { permissions, findings } = lock.held;
  const since = lock.heldSince === undefined
    ? ""
    : `,\n  "held_since": ${JSON.stringify(lock.heldSince)}`;
  return `{
  "version": ${JSON.stringify(lock.version)},
  "tools": ${block(lock.tools)},
  "held_tools": ${block(lock.held.tools)},
  "held_permissions": ${canonicalJson(permissions)},
  "held_findings": ${canonicalJson(findings)}${since}
}
`;
}

/**
 * Parses the file. Refuses what it cannot read, because that must not mean "nothing is held back".
 */
export function parseToolLock(text: string, file: string): Result<ToolLock> {
  const bad = (state: string) =>
    err(refusal("tool-lock-invalid", `Cannot use "${file}": ${state}`, {
      hints: ["fleetctl mcp catalog rollback --help"],
    }));
  if (text.length > TEXT_LENGTH_MAX) return bad("it is too large");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return bad("it is not valid JSON");
  }
  if (!isRecord(value) || typeof value["version"] !== "string") return bad("it has no version");
  const known = [
    "version",
    "tools",
    "held_tools",
    "held_permissions",
    "held_findings",
    "held_since",
  ];
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) return bad(`it has the unknown key ${JSON.stringify(unknown)}`);
  const tools = readTools(value["tools"]);
  const held = readTools(value["held_tools"]);
  const permissions = readPermissions(value["held_permissions"]);
  const findings = readStrings(value["held_findings"]);
  if (tools === undefined || held === undefined) return bad("a tool has no hash or no definition");
  if (permissions === undefined) return bad("held_permissions are not lists by kind");
  if (findings === undefined) return bad("held_findings is not a list of texts");
  const since = value["held_since"];
  if (since !== undefined && (typeof since !== "string" || Number.isNaN(Date.parse(since)))) {
    return bad("held_since is not a time");
  }
  const heldMap = new Map(
    [...held].map(([name, tool]) => [name, { ...tool, why: tool.why ?? [] }]),
  );
  return ok({
    version: value["version"],
    tools: new Map([...tools].map(([name, { why: _, ...locked }]) => [name, locked])),
    held: { tools: heldMap, permissions, findings },
    ...defined({ heldSince: since }),
  });
}

type ReadTool = LockedTool & { readonly why?: readonly string[] };

function readTools(value: unknown): ReadonlyMap<string, ReadTool> | undefined {
  if (!isRecord(value) || Object.keys(value).length > TOOLS_MAX) return undefined;
  const tools = new Map<string, ReadTool>();
  for (const [name, tool] of Object.entries(value)) {
    if (!isRecord(tool) || typeof tool["hash"] !== "string") return undefined;
    const { hash, definition, running } = tool;
    if (running !== undefined && running !== true) return undefined;
    const why = tool["why"] === undefined ? undefined : readStrings(tool["why"]);
    if (!isRecord(definition)) return undefined;
    tools.set(name, { hash, definition, ...defined({ running, why }) });
  }
  return tools;
}

function readPermissions(value: unknown): HeldBack["permissions"] | undefined {
  if (!isRecord(value)) return undefined;
  const permissions: Partial<Record<keyof ServerPermissions, readonly string[]>> = {};
  for (const [kind, list] of Object.entries(value)) {
    const known = PERMISSION_KINDS.find((one) => one === kind);
    const values = readStrings(list);
    if (known === undefined || values === undefined) return undefined;
    permissions[known] = values;
  }
  return permissions;
}

function readStrings(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === "string") ? value : undefined;
}
