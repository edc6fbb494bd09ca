/**
 * The port that copies and checks whole package trees. Types only; the adapter is
 * `core/os/vendor.ts`. Not part of `Host`, because only vendoring needs it.
 *
 * @module
 */

/**
 * GNU find's format for one entry of a tree's fingerprint: kind, mode, inode, size, modification
 * time and change time (nanoseconds), name, link target. No program can set the change time. So an
 * equal one means that the file was not written since, unless someone can set the machine's clock.
 */
export const STAMP_FORMAT = "%y %m %i %s %T@ %C@ %P %l\\0";

/** Follows the last entry, so that a truncated list does not pass for a complete one. */
export const STAMP_END = "whole";

/** The result of reading a whole tree once. */
export interface TreeSummary {
  readonly treeHash: string;
  readonly files: number;
  readonly bytes: number;
  /**
   * SHA-256 in hex over the entries in `STAMP_FORMAT` and over `STAMP_END`, without file contents.
   * Entries are in directory order, which stays the same until a folder is written. Empty where GNU
   * find is missing; then it never matches another fingerprint.
   */
  readonly fingerprint: string;
}

/**
 * Operations on whole trees. One adapter does them, because single-file ports would be too slow.
 */
export interface Trees {
  /**
   * Copies a tree to a new folder, links as links and files as bytes. Never makes hard links,
   * because the source may share them with a cache. Sets modes 0644, and 0755 for programs and
   * folders. Skips the names in `skip`. Rejects with `FileFault`.
   */
  copy(from: string, to: string, skip: readonly string[]): Promise<void>;
  /**
   * Removes the files for which `isUnused` (given the path below the folder) is true; keeps links.
   */
  prune(folder: string, isUnused: (path: string) => boolean): Promise<void>;
  /** Reads everything below a folder. Rejects with `FileFault`. */
  summarize(folder: string): Promise<Omit<TreeSummary, "fingerprint">>;
  /** Returns only the fingerprint: two milliseconds for a thousand files. Starts `find`. */
  fingerprint(folder: string): Promise<string>;
}
