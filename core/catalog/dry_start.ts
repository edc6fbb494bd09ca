/**
 * Judges what a server requested while it was tried out, from the permission audit of the pinned
 * Deno. `mcp catalog add` proposes the permissions from such a dry start, and a person reviews
 * them. No I/O.
 *
 * | Requested | Becomes |
 * |---|---|
 * | reading a file of its own tree, or a folder above it | nothing: not needed or always readable |
 * | the workspace, a file below it | `{workdir}` |
 * | another file below the home | `{home}/<folder>` |
 * | a file that an argument of the entry names | itself; never granted during the try |
 * | a file elsewhere | listed as refused; never proposed for a grant |
 * | native code (`ffi`) | listed as refused; never proposed for a grant |
 * | a host | `host:port` |
 * | `sys` | itself |
 * | a program | nothing: Deno denies it without an audit entry; see `core/catalog/code_diff.ts` |
 * | a variable | its name, if it looks like a key; undeclared ones read as undefined |
 *
 * @module
 */

import type { Grants } from "core/catalog/edit.ts";
import type { Manifest, ServerPermissions } from "core/catalog/manifest.ts";
import { PERMISSION_KINDS } from "core/catalog/manifest_rules.ts";
import type { McpTool } from "core/ports/mcp_client.ts";

/** The findings of the audit. Lists are sorted and without duplicates. */
export interface RequestedAccess {
  readonly permissions: Required<Grants>;
  /** Requests that no review can grant, such as `read /etc/shadow`. */
  readonly refused: readonly string[];
  /** Variables that look like credentials. */
  readonly keys: readonly string[];
}

/** Where the server was tried out; absolute paths. */
export interface TryFolders {
  readonly home: string;
  /** Stands for an agent's workspace; a folder of the home. */
  readonly workdir: string;
  /** Files and folders that the operator has named in an argument or a variable of the entry. */
  readonly named?: readonly string[];
  /** Root of the package's own tree. */
  readonly tree: string;
}

/** Names of variables that look like credentials. */
export const KEY_NAME = /^[A-Z][A-Z0-9_]*(KEY|TOKEN|SECRET|PASSWORD|PAT|DSN)(_[A-Z0-9_]+)?$/;
const NET_TARGET = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?:\d{1,5}$/;
const LINES_MAX = 200_000;

/** Judges the text of an audit file, one JSON object per line. */
export function readAudit(text: string, folders: TryFolders): RequestedAccess {
  const found: Record<keyof ServerPermissions, Set<string>> = {
    net: new Set(),
    read: new Set(),
    write: new Set(),
    env: new Set(),
    run: new Set(),
    sys: new Set(),
  };
  const refused = new Set<string>();
  const keys = new Set<string>();
  for (const line of text.split("\n", LINES_MAX)) {
    const entry = parseLine(line);
    if (entry === undefined) continue;
    const { permission, value } = entry;
    if (permission === "env") {
      if (KEY_NAME.test(value)) keys.add(value);
    } else if (permission === "read" || permission === "write") {
      const folder = folderOf(value, permission, folders);
      if (folder === "refused") refused.add(`${permission} ${value}`);
      else if (folder !== undefined) found[permission].add(folder);
    } else if (permission === "net") {
      if (NET_TARGET.test(value)) found.net.add(value);
    } else if (permission === "sys" || permission === "run") {
      found[permission].add(value);
    } else if (permission === "ffi") {
      refused.add(`ffi ${value}`);
    }
  }
  const sorted = (set: ReadonlySet<string>) => [...set].sort();
  return {
    permissions: {
      net: sorted(found.net),
      read: sorted(found.read),
      write: sorted(found.write),
      env: [],
      run: sorted(found.run),
      sys: sorted(found.sys),
    },
    refused: sorted(refused),
    keys: sorted(keys),
  };
}

function parseLine(line: string) {
  try {
    const value = JSON.parse(line) as { permission?: unknown; value?: unknown };
    return typeof value.permission === "string" && typeof value.value === "string"
      ? { permission: value.permission, value: value.value }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the folder to grant, undefined for none, or "refused". */
function folderOf(path: string, kind: "read" | "write", folders: TryFolders): string | undefined {
  const absolute = path.startsWith("/") ? path : `${folders.home}/${path}`;
  if (isWithin(absolute, folders.workdir)) return "{workdir}";
  const named = folders.named?.find((one) => isWithin(absolute, one));
  if (named !== undefined) return named;
  // Runtimes search their own folder and its parents for modules and settings.
  const isAbove = isWithin(folders.tree, absolute) || isWithin(folders.home, absolute);
  if (kind === "read" && (isWithin(absolute, folders.tree) || isAbove)) return undefined;
  if (/\/(node_modules|package\.json)(\/|$)/.test(absolute) && kind === "read") return undefined;
  if (!isWithin(absolute, folders.home)) return "refused";
  const parts = absolute.slice(folders.home.length + 1).split("/").filter((part) => part !== "");
  if (parts.length === 0 || parts[0] === ".env") return undefined;
  // Many programs share these hidden folders of the home, so the grant is one level deeper.
  const depth = /^\.(config|cache|local)$/.test(parts[0] ?? "") ? 2 : 1;
  if (parts.length < depth) return undefined;
  return `{home}/${parts.slice(0, depth).join("/")}`;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

/** Returns the requested permissions that are not granted; `*` grants its whole kind. */
export function missingGrants(requested: Required<Grants>, granted: Grants): Grants {
  const rest: Partial<Record<keyof ServerPermissions, readonly string[]>> = {};
  for (const kind of PERMISSION_KINDS) {
    const has = granted[kind] ?? [];
    if (has.includes("*")) continue;
    const isFolder = kind === "read" || kind === "write";
    const left = requested[kind].filter((value) =>
      !has.some((one) =>
        one === value || (isFolder && value.startsWith(`${one}/`)) ||
        (kind === "net" && value.startsWith(`${one}:`))
      )
    );
    if (left.length > 0) rest[kind] = left;
  }
  return rest;
}

/** Returns the union of permissions. */
export function joinGrants(...all: readonly Grants[]): Required<Grants> {
  const joined = (kind: keyof ServerPermissions) =>
    [...new Set(all.flatMap((one) => one[kind] ?? []))].sort();
  return {
    net: joined("net"),
    read: joined("read"),
    write: joined("write"),
    env: joined("env"),
    run: joined("run"),
    sys: joined("sys"),
  };
}

/**
 * Returns the requested permissions that a try may have: `sys`, and paths in its own empty home.
 */
export function safeTrialGrants(requested: Required<Grants>): Grants {
  const own = (paths: readonly string[]) => paths.filter((path) => path.startsWith("{"));
  return { sys: requested.sys, read: own(requested.read), write: own(requested.write) };
}

/** Returns the absolute paths that an operator has named for a server; `/` alone is ignored. */
export function namedPaths({ args, environment }: Pick<Manifest, "args" | "environment">) {
  return [...args, ...Object.values(environment)]
    .map((text) => text.replace(/^--?[\w-]+=/, "").replace(/\/+$/, ""))
    .filter((text) => /^\/[^\p{Cc}{},]+$/u.test(text) && !/\/\.{1,2}(\/|$)/.test(text));
}

/** Returns a manifest with added permissions, for a try. */
export function withGrants(manifest: Manifest, grants: Grants): Manifest {
  return { ...manifest, permissions: joinGrants(manifest.permissions, grants) };
}

/** Prints grants, one per line: `net api.example.org:443`. */
export function grantLines(grants: Grants): readonly string[] {
  return PERMISSION_KINDS.flatMap((kind) => (grants[kind] ?? []).map((one) => `${kind} ${one}`));
}

/** Prints grants in the form of `--grant`: `net=api.example.org:443`. */
export function grantOptions(grants: Grants): readonly string[] {
  return PERMISSION_KINDS.flatMap((kind) => (grants[kind] ?? []).map((one) => `${kind}=${one}`));
}

/**
 * Chooses the tool for the one real call of a try, and makes up its required arguments from their
 * types. The tool must declare itself read-only, or have no annotations and a name that suggests
 * reading. The one with the fewest required arguments wins.
 */
export function trialCall(
  tools: readonly McpTool[],
): { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> } | undefined {
  const candidates = tools.flatMap((tool) => {
    const annotations = tool.definition["annotations"] as { readOnlyHint?: unknown } | undefined;
    const reads = annotations?.readOnlyHint === true ||
      (annotations === undefined && /(^|[-_])(get|list|search|read|find)([-_]|$)/i.test(tool.name));
    if (!reads) return [];
    const required = tool.inputSchema["required"];
    const names = Array.isArray(required) ? required.map(String) : [];
    return [{ tool, names }];
  }).sort((a, b) => a.names.length - b.names.length || (a.tool.name < b.tool.name ? -1 : 1));
  const [best] = candidates;
  if (best === undefined) return undefined;
  const properties = (best.tool.inputSchema["properties"] ?? {}) as Record<string, unknown>;
  return {
    tool: best.tool.name,
    arguments: Object.fromEntries(best.names.map((name) => [name, sample(properties[name])])),
  };
}

function sample(schema: unknown): unknown {
  const of = (schema ?? {}) as { type?: unknown; enum?: unknown; default?: unknown };
  if (of.default !== undefined) return of.default;
  if (Array.isArray(of.enum)) return of.enum[0];
  switch (of.type) {
    case "number":
    case "integer":
      return 1;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return "a";
  }
}
