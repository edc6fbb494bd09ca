/**
 * The port through which whole package trees are copied and judged. Types only; the adapter is
 * `core/os/vendor.ts`. No part of `Host`, because only vendoring needs it.
 *
 * @module
 */

/**
 * How GNU find describes one entry of a tree for its fingerprint: kind, mode, inode, size, time of
 * the last write and of the last change of anything about it (nanoseconds), name, target of a link.
 * No program can set the change time, so an equal one means that nobody wrote to the file since,
 * short of someone who can set the clock of the machine.
 */
export const STAMP_FORMAT = "%y %m %i %s %T@ %C@ %P %l\\0";

/** What follows the last entry, so that a list that broke off is not taken for the whole. */
export const STAMP_END = "whole";

/** What one look at a whole tree gives. */
export interface TreeSummary {
  readonly treeHash: string;
  readonly files: number;
  readonly bytes: number;
  /**
   * SHA-256 in hex over the entries as `STAMP_FORMAT` describes them, in the order of the folders,
   * which is the same as long as nobody writes to them, and `STAMP_END`; no contents. Empty where
   * GNU find is missing: then it equals no other one.
   */
  readonly fingerprint: string;
}

/** Work on whole trees, done by the adapter because single-file ports would be too slow. */
export interface Trees {
  /**
   * Copies a tree to a new folder, link by link and byte by byte (never hard links: the source may
   * share them with a cache), with modes 0644, 0755 for programs and folders. Names in `skip` are
   * left out. Rejects with `FileFault`.
   */
  copy(from: string, to: string, skip: readonly string[]): Promise<void>;
  /** Removes the files for which `isIdle` holds, by their path below the folder; links stay. */
  prune(folder: string, isIdle: (path: string) => boolean): Promise<void>;
  /** Reads everything below a folder. Rejects with `FileFault`. */
  summarize(folder: string): Promise<Omit<TreeSummary, "fingerprint">>;
  /** Only the fingerprint: two milliseconds for a thousand files. Starts `find`. */
  fingerprint(folder: string): Promise<string>;
}
