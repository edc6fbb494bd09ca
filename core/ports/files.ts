/**
 * The port of the file system, and the fault that it throws.
 *
 * @module
 */

import type { FileStat } from "core/files/file_stat.ts";

/** How `Files.write` leaves a file. Owner is set only when given. */
export interface WriteOptions {
  /** Permission bits; 0o644 when absent. Set before the rename, whatever the umask says. */
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
}

/** A held lock; `release` is idempotent. */
export interface Lock {
  release(): Promise<void>;
}

/** Thrown by `Files` for conditions callers tell apart. `code` is one of the POSIX names. */
export class FileFault extends Error {
  override readonly name = "FileFault";
  constructor(
    /** `ENOENT`, `EACCES`, `ENOSPC`, `EEXIST`, `ENOTDIR`, `EROFS`, `EISDIR`, `ELOOP` or `EIO`. */
    readonly code: string,
    readonly path: string,
    message: string,
  ) {
    super(message);
  }
}

/** The file system. Paths are absolute. Faults are thrown as `FileFault`. */
export interface Files {
  /** Text, or undefined when there is no such file. */
  readText(path: string): Promise<string | undefined>;
  /** Bytes, or undefined when there is no such file. */
  readBytes(path: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /**
   * Text of a plain file of this size at most and this owner; undefined for anything
   * else. Never waits.
   */
  readPlain(path: string, of: { bytesMax: number; uid: number }): Promise<string | undefined>;
  /**
   * Writes atomically and durably: a crash leaves the old file or the new one. Never
   * follows a link at `path`.
   */
  write(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void>;
  /** Appends, creating the file with `mode`. Not atomic across crashes; for logs only. */
  append(path: string, data: string, mode?: number): Promise<void>;
  /** Like `append`, but what was appended is on the disk when the promise resolves (fsync). */
  appendDurably(path: string, data: string, mode?: number): Promise<void>;
  /**
   * Creates the folder and its parents; sets mode and owner on the last one only if it
   * was made or differs.
   */
  ensureDir(path: string, options?: WriteOptions): Promise<void>;
  /** Sorted names in a folder; empty when there is no such folder. */
  list(path: string): Promise<readonly string[]>;
  stat(path: string): Promise<FileStat | undefined>;
  readLink(path: string): Promise<string | undefined>;
  /** Replaces whatever is at `path` by a link to `target`, atomically. */
  symlink(target: string, path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file or, when `recursive`, a tree; absence is no fault. */
  remove(path: string, options?: { readonly recursive?: boolean }): Promise<void>;
  setMeta(path: string, options: WriteOptions): Promise<void>; // By descriptor; no link.
  /** Waits for the exclusive lock on `path` (a lock file, created 0600); other processes see it. */
  lock(path: string, signal?: AbortSignal): Promise<Lock>;
  /** Takes the lock at once, or returns undefined when someone else holds it. */
  tryLock(path: string): Promise<Lock | undefined>;
}
