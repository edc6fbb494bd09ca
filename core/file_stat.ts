/**
 * What is told of a file without opening it.
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
