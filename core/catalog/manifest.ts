/**
 * The manifest of one catalog entry, `catalog/<name>/mcp.yaml`; `core/catalog/parse_manifest.ts`
 * parses it. No I/O.
 *
 * @module
 */

import type { KeyName, McpName } from "core/names.ts";

/** How a tool is exposed to the model (runtime-b only; not a security control). */
export const EXPOSURES = ["codemode", "deferred", "direct", "hidden"] as const;
/** One of `EXPOSURES`. */
export type Exposure = typeof EXPOSURES[number];

/** The origin of the server. `version` is exact; a range is not a pin. */
export type Source =
  | { readonly kind: "npm"; readonly package: string; readonly version: string }
  | { readonly kind: "uvx"; readonly package: string; readonly version: string }
  | { readonly kind: "builtin"; readonly name: string }
  | { readonly kind: "http"; readonly url: string };

/**
 * What the server may access, under Deno or in its sandbox. Values may contain the placeholders
 * `{tree}`, `{home}`, `{workdir}`, `{project}` and `{lib}`.
 */
export interface ServerPermissions {
  readonly net: readonly string[];
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly env: readonly string[];
  readonly run: readonly string[];
  readonly sys: readonly string[];
}

/** One catalog entry. The keys of the file are in snake_case. */
export interface Manifest {
  readonly name: McpName;
  readonly summary: string;
  readonly source: Source;
  /** Subresource-integrity string of the package, `sha512-…`; absent for builtin and http. */
  readonly integrity?: string;
  /** Integrity of the lock file's text, and so of the whole locked tree, `sha256-…`. */
  readonly lockIntegrity?: string;
  /**
   * Hash of the deployed tree, `sha256-…`. Pinned if the manifest states it, else trusted on first
   * use.
   */
  readonly treeIntegrity?: string;
  /** Text of the entry's lock: the whole dependency tree with integrity; npm and uvx only. */
  readonly lock?: string;
  /**
   * The program to start, as a path relative to the deployed tree. `args` accept the placeholders
   * of `ServerPermissions`.
   */
  readonly command?: string;
  readonly args: readonly string[];
  /** Fixed, non-secret environment of the server; accepts the same placeholders. */
  readonly environment: Readonly<Record<string, string>>;
  readonly auth: "none" | "env" | "oauth";
  readonly requiredEnv: readonly KeyName[];
  readonly userEnv: readonly KeyName[];
  readonly optionalEnv: readonly KeyName[];
  /** Manifest key `scope`. */
  readonly sharing: "shared" | "per_user";
  readonly transport: "stdio" | "http";
  /** Headers of each request to an http server; `{KEY}` stands for a key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly exposure: Exposure;
  readonly toolExposure: ReadonlyMap<string, Exposure>;
  readonly risk: ReadonlyMap<string, "block" | "ask">;
  /**
   * Tools that an operator has accepted as read-only: `read_only` of the manifest, and
   * `readOnlyHint` of the accepted definitions in `tools.lock`.
   */
  readonly readOnly: ReadonlySet<string>;
  readonly engine: "deno" | "node";
  /** Why the server cannot run under Deno; present exactly when `engine` is `node`. */
  readonly engineReason?: string;
  readonly permissions: ServerPermissions;
  readonly runAs?: "root";
  readonly oauth?: { readonly provider: string; readonly scopes: readonly string[] };
  readonly limits: {
    readonly memoryBytesMax: number;
    readonly tasksMax: number;
    readonly idleStopSeconds: number;
  };
  /**
   * Programs that the host must have, such as `chromium`, each with the command that installs it.
   */
  readonly hostPrograms: readonly { readonly anyOf: readonly string[]; readonly install: string }[];
  readonly origin: "shipped" | "overlay" | "runtime";
  /**
   * Tools that an upgrade added or widened (`core/catalog/tool_diff.ts`) and that await a review;
   * `*` for all. They are also in `risk` as `block`, so that every endpoint refuses them.
   */
  readonly heldTools?: readonly string[];
  /** Everything that awaits a review, one text each, and since when (ISO 8601). */
  readonly heldBack?: { readonly reasons: readonly string[]; readonly since?: string };
  /** Tool → hash of its accepted definition; absent if nothing was locked. */
  readonly acceptedTools?: ReadonlyMap<string, string>;
}

/**
 * Tells whether a server needs a sandbox because nothing inside its process confines it: a Python
 * server, or a server under Node.
 */
export function isSandboxed({ source, engine }: Pick<Manifest, "source" | "engine">): boolean {
  return source.kind === "uvx" || (source.kind === "npm" && engine === "node");
}
