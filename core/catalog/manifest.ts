/**
 * The manifest of one catalog entry, `catalog/<name>/mcp.yaml`. No I/O. Unknown keys and bad values
 * are refused by file, line and key.
 *
 * @module
 */

import type { KeyName, McpName } from "core/names.ts";

/** How the model reaches a tool (runtime-b only; not a security control). */
export const EXPOSURES = ["codemode", "deferred", "direct", "hidden"] as const;
/** One of `EXPOSURES`. */
export type Exposure = typeof EXPOSURES[number];

/** Where the server comes from. `version` is exact; ranges are not pins. */
export type Source =
  | { readonly kind: "npm"; readonly package: string; readonly version: string }
  | { readonly kind: "uvx"; readonly package: string; readonly version: string }
  | { readonly kind: "builtin"; readonly name: string }
  | { readonly kind: "http"; readonly url: string };

/**
 * What the server may reach under Deno; placeholders `{tree}`, `{home}`, `{workdir}`,
 * `{project}`, `{lib}`.
 */
export interface ServerPermissions {
  readonly net: readonly string[];
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly env: readonly string[];
  readonly run: readonly string[];
  readonly sys: readonly string[];
}

/** One catalog entry. Keys of the file are in snake_case. */
export interface Manifest {
  readonly name: McpName;
  readonly summary: string;
  readonly source: Source;
  /** Subresource-integrity string of the package, `sha512-…`; absent for builtin and http. */
  readonly integrity?: string;
  /** Whole locked tree: integrity of the lock file text, `sha256-…`. */
  readonly lockIntegrity?: string;
  /**
   * Hash of the deployed tree, `sha256-…`; pinned where the entry knows it, else trusted
   * on first use.
   */
  readonly treeIntegrity?: string;
  /** Text of the entry's lock, the whole dependency tree with integrity; npm and uvx only. */
  readonly lock?: string;
  /** Program inside the tree; its arguments take the placeholders of permissions. */
  readonly command?: string;
  readonly args: readonly string[];
  /** Fixed, non-secret environment of the server (placeholders as in permissions). */
  readonly environment: Readonly<Record<string, string>>;
  readonly auth: "none" | "env" | "oauth";
  readonly requiredEnv: readonly KeyName[];
  readonly userEnv: readonly KeyName[];
  readonly optionalEnv: readonly KeyName[];
  /** Manifest key `scope`. */
  readonly sharing: "shared" | "per_user";
  readonly transport: "stdio" | "http";
  /** What a server that is reached by URL is told with each request; `{KEY}` stands for a key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly exposure: Exposure;
  readonly toolExposure: ReadonlyMap<string, Exposure>;
  readonly risk: ReadonlyMap<string, "block" | "ask">;
  /**
   * Tools that an operator has accepted as read-only: `read_only` of the manifest, and what the
   * accepted definitions in `tools.lock` say of themselves.
   */
  readonly readOnly: ReadonlySet<string>;
  readonly engine: "deno" | "node";
  /** Why the server cannot run under Deno; there exactly when `engine` is `node`. */
  readonly engineReason?: string;
  readonly permissions: ServerPermissions;
  readonly runAs?: "root";
  readonly oauth?: { readonly provider: string; readonly scopes: readonly string[] };
  readonly limits: {
    readonly memoryBytesMax: number;
    readonly tasksMax: number;
    readonly idleStopSeconds: number;
  };
  /** Programs the host must have, each with what to install: `chromium`. */
  readonly hostPrograms: readonly { readonly anyOf: readonly string[]; readonly install: string }[];
  readonly origin: "shipped" | "overlay" | "runtime";
  /**
   * Tools that an upgrade widened and that wait for a review. They stand in `risk` as
   * `block`, too, so that every door refuses them.
   */
  readonly heldTools?: readonly string[];
  /** Everything that waits for a review, in words, and since when (ISO 8601). */
  readonly heldBack?: { readonly reasons: readonly string[]; readonly since?: string };
  /** Tool → hash of its accepted definition; absent where nothing was locked. */
  readonly acceptedTools?: ReadonlyMap<string, string>;
}

/**
 * Tells whether nothing inside its process confines a server, so that a sandbox around it must: a
 * Python server, and one under Node.
 */
export function isSandboxed({ source, engine }: Pick<Manifest, "source" | "engine">): boolean {
  return source.kind === "uvx" || (source.kind === "npm" && engine === "node");
}
