/**
 * What is told of a file without opening it, and whether it is still the file that was read.
 *
 * @module
 */

/** What `Files.stat` tells; links are not followed. */
export interface FileStat {
  readonly kind: "file" | "directory" | "symlink" | "other";
  /** Permission bits only, such as 0o640. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtimeMs: number;
  /** Time of the last change to content or inode; nobody can set it back, unlike `mtimeMs`. */
  readonly ctimeMs: number;
  /** Device and inode: another pair is another file. A number of a removed file is used again. */
  readonly dev: number;
  readonly ino: number;
}

/**
 * Names a file as it is; undefined for none, for a link, and for one that was changed less than
 * `settledMs` before `now`: times are coarse and inodes are used again, so it may be changed
 * once more without a trace.
 */
export function fileVersion(
  stat: FileStat | undefined,
  now: number,
  settledMs: number,
): string | undefined {
  // What a link says of itself tells nothing of the file that it leads to.
  if (stat === undefined || stat.kind !== "file") return undefined;
  const { dev, ino, size, mtimeMs, ctimeMs } = stat;
  if (now - ctimeMs < settledMs) return undefined;
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}
