/**
 * Decides what `fleetctl gc` may delete, from the files found. Pure. In doubt a file is kept.
 *
 * | What | Deleted when | Always kept |
 * |---|---|---|
 * | vendored trees | no agent of this host has the MCP, and it was not used for `trees` | all trees of an MCP that is wired or held |
 * | installer caches | the MCP's trees are deleted, and the catalog does not have the MCP | caches of MCPs of the catalog |
 * | log files | nothing was written for `logs`, and the unit is gone or the file rotated away | the current log of a rendered unit, unless it is an instance |
 *
 * @module
 */

import type { FileStat } from "core/files/file_stat.ts";

/** A file or folder that was found. */
export interface Found {
  readonly name: string;
  readonly path: string;
  readonly stat: Pick<FileStat, "kind" | "mtimeMs" | "size">;
}

/** One file or folder to delete, and the reason. */
export interface Expired {
  readonly kind: "tree" | "cache" | "log";
  readonly path: string;
  readonly bytes: number;
  readonly reason: string;
}

/** Returns the log files to delete. `units` are the names of all rendered units. */
export function expiredLogs(
  found: readonly Found[],
  units: ReadonlySet<string>,
  beforeMs: number,
): readonly Expired[] {
  return found.flatMap(({ name, path, stat }): readonly Expired[] => {
    const [, unit = "", rotated] = /^(.+)\.log(\.\d+(?:\.gz)?)?$/.exec(name) ?? [];
    if (unit === "" || stat.kind !== "file" || stat.mtimeMs >= beforeMs) return [];
    const reason = rotated !== undefined
      ? "rotated away"
      : isRendered(unit, units)
      ? undefined
      : "its unit is gone";
    return reason === undefined ? [] : [{ kind: "log", path, bytes: stat.size, reason }];
  });
}

/**
 * Whether a unit is rendered. Returns false for an instance, because its log is obsolete once its
 * connection is closed.
 */
function isRendered(unit: string, units: ReadonlySet<string>): boolean {
  return units.has(unit) && !/@[^.]+\./.test(unit);
}

/** The trees of one MCP. */
export interface McpTrees {
  readonly mcp: string;
  readonly folder: Found;
  /** Time of the last move of the link to the tree in use, or of the folder's creation. */
  readonly usedMs: number;
  readonly bytes: number;
  /** The installer's cache of that MCP, if it exists. */
  readonly cache: { readonly path: string; readonly bytes: number } | undefined;
}

/** Returns the trees to delete: those of MCPs that no agent of this host has. */
export function expiredTrees(
  found: readonly McpTrees[],
  known: {
    /** MCPs that an agent of this host has, or that are held. */
    readonly wired: ReadonlySet<string>;
    /** MCPs of the catalog. Their caches are kept so that they can be reinstalled offline. */
    readonly catalogued: ReadonlySet<string>;
    readonly beforeMs: number;
  },
): readonly Expired[] {
  return found.flatMap(({ mcp, folder, usedMs, bytes, cache }): readonly Expired[] => {
    if (known.wired.has(mcp) || usedMs >= known.beforeMs) return [];
    const tree = { kind: "tree", path: folder.path, bytes, reason: "no agent has it" } as const;
    if (cache === undefined || known.catalogued.has(mcp)) return [tree];
    return [tree, { kind: "cache", ...cache, reason: "the catalog does not have it" }];
  });
}
