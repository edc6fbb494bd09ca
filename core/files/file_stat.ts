/**
 * File metadata, and an identity that tells whether a file is still the one that was read.
 *
 * @module
 */

/** Result of `Files.stat`; links are not followed. */
export interface FileStat {
  readonly kind: "file" | "directory" | "symlink" | "other";
  /** Permission bits only, such as 0o640. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtimeMs: number;
  /** Time of the last change to content or inode; unlike `mtimeMs`, it cannot be set back. */
  readonly ctimeMs: number;
  /**
   * Device and inode; a different pair means a different file. Inodes of removed files are reused.
   */
  readonly dev: number;
  readonly ino: number;
}

/**
 * Returns a text that identifies the current state of a file. Returns undefined if there is no
 * file, for a link, and for a file that changed less than `settledMs` before `now`. Timestamps are
 * coarse and inodes are reused, so such a file may change again undetected.
 */
export function fileVersion(
  stat: FileStat | undefined,
  now: number,
  settledMs: number,
): string | undefined {
  // The metadata of a link do not change when its target does.
  if (stat === undefined || stat.kind !== "file") return undefined;
  const { dev, ino, size, mtimeMs, ctimeMs } = stat;
  if (now - ctimeMs < settledMs) return undefined;
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}
