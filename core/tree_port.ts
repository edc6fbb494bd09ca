/**
 * The port through which whole package trees are copied and judged. Types only; the adapter is
 * `core/os/vendor.ts`. Apart from `core/ports.ts` because only vendoring needs it.
 *
 * @module
 */

/** What one look at a whole tree gives. */
export interface TreeSummary {
  readonly treeHash: string;
  readonly files: number;
  readonly bytes: number;
  /** Cheap fingerprint: names, sizes, modes, inodes and change times, but no contents. */
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
  /** Reads everything below a folder. Rejects with `FileFault`. */
  summarize(folder: string): Promise<TreeSummary>;
  /** Only the fingerprint; some milliseconds for a thousand files. */
  fingerprint(folder: string): Promise<string>;
}
