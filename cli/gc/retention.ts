/**
 * What `fleetctl gc` may take away, decided from what is there. Pure. In doubt a thing stays.
 *
 * | What | Goes when | Always stays |
 * |---|---|---|
 * | vendored trees | no agent of this host has the MCP, and it was not used for `trees` | the tree in use and the one before it, for rollback |
 * | log files | nothing was written for `logs`, and the unit is gone or the file rotated away | the log of every unit that is rendered |
 *
 * @module
 */

import type { FileStat } from "core/files/file_stat.ts";

/** A file or folder as it was found. */
export interface Found {
  readonly name: string;
  readonly path: string;
  readonly stat: Pick<FileStat, "kind" | "mtimeMs" | "size">;
}

/** One thing that goes, and why. */
export interface Doomed {
  readonly kind: "tree" | "cache" | "log";
  readonly path: string;
  readonly bytes: number;
  readonly reason: string;
}

/** Returns the log files that go; `units` are the names of all units that are rendered. */
export function doomedLogs(
  found: readonly Found[],
  units: ReadonlySet<string>,
  beforeMs: number,
): readonly Doomed[] {
  return found.flatMap(({ name, path, stat }): readonly Doomed[] => {
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
 * An instance's log is old news as soon as its connection is closed; its template does not keep it.
 */
function isRendered(unit: string, units: ReadonlySet<string>): boolean {
  return units.has(unit) && !/@[^.]+\./.test(unit);
}

/** What is known about the trees of one MCP. */
export interface McpTrees {
  readonly mcp: string;
  readonly folder: Found;
  /** When the link to the tree in use was last moved, or the folder was made. */
  readonly usedMs: number;
  readonly bytes: number;
  /** The installer's cache of that MCP, when there is one. */
  readonly cache: { readonly path: string; readonly bytes: number } | undefined;
}

/** Returns the trees that go: those of MCPs that nobody here has. */
export function doomedTrees(
  found: readonly McpTrees[],
  known: {
    /** MCPs that an agent of this host has, or that are held. */
    readonly wired: ReadonlySet<string>;
    /** MCPs of the catalog: their caches stay, so that they come back without a network. */
    readonly catalogued: ReadonlySet<string>;
    readonly beforeMs: number;
  },
): readonly Doomed[] {
  return found.flatMap(({ mcp, folder, usedMs, bytes, cache }): readonly Doomed[] => {
    if (known.wired.has(mcp) || usedMs >= known.beforeMs) return [];
    const tree = { kind: "tree", path: folder.path, bytes, reason: "no agent has it" } as const;
    if (cache === undefined || known.catalogued.has(mcp)) return [tree];
    return [tree, { kind: "cache", ...cache, reason: "the catalog does not have it" }];
  });
}
