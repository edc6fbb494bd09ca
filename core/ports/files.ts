/**
 * The port of the file system, and the error that it throws.
 *
 * @module
 */

import type { FileStat } from "core/files/file_stat.ts";

/** Mode and owner of a file or folder. The owner is set only when given. */
export interface WriteOptions {
  /**
   * Permission bits, regardless of the umask. When absent: 0o644 in `write`, 0o755 for a folder
   * that `ensureDir` creates, otherwise unchanged.
   */
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
}

/** The beginning of a regular file. */
export interface FileHead {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Size of the whole file. */
  readonly size: number;
}

/** A held lock; `release` is idempotent. */
export interface Lock {
  release(): Promise<void>;
}

/** Thrown by `Files` for conditions that callers distinguish. `code` is one of the POSIX names. */
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
  /** Text of the file; undefined when it does not exist. */
  readText(path: string): Promise<string | undefined>;
  /** Bytes of the file; undefined when it does not exist. */
  readBytes(path: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /**
   * Text of a regular file with this owner and at most this size; undefined for anything else.
   * Never blocks.
   */
  readPlain(path: string, of: { bytesMax: number; uid: number }): Promise<string | undefined>;
  /**
   * The first bytes of a regular file, at most `bytesMax`; undefined for anything else. Follows no
   * symbolic link at `path`. Never blocks.
   */
  readHead(path: string, bytesMax: number): Promise<FileHead | undefined>;
  /**
   * Writes atomically and durably: a crash leaves the old file or the new one. Never follows a
   * symbolic link at `path`.
   */
  write(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void>;
  /** Appends; creates the file with `mode`. Not atomic across crashes, so for logs only. */
  append(path: string, data: string, mode?: number): Promise<void>;
  /** Like `append`, but the appended data is on the disk (fsync) when the promise resolves. */
  appendDurably(path: string, data: string, mode?: number): Promise<void>;
  /**
   * Creates the folder and its parents. Sets mode and owner only on the last one, and only if it is
   * new or they differ.
   */
  ensureDir(path: string, options?: WriteOptions): Promise<void>;
  /** Sorted names in a folder; empty when the folder does not exist. */
  list(path: string): Promise<readonly string[]>;
  stat(path: string): Promise<FileStat | undefined>;
  readLink(path: string): Promise<string | undefined>;
  /** The path without symbolic links; undefined when it, or the target of a link, is missing. */
  realPath(path: string): Promise<string | undefined>;
  /** Replaces whatever exists at `path` with a symbolic link to `target`, atomically. */
  symlink(target: string, path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file or, when `recursive`, a tree; a missing path is not an error. */
  remove(path: string, options?: { readonly recursive?: boolean }): Promise<void>;
  setMeta(path: string, options: WriteOptions): Promise<void>; // By descriptor; no link.
  /** Waits for the exclusive lock on `path` (a lock file, created 0600), also between processes. */
  lock(path: string, signal?: AbortSignal): Promise<Lock>;
  /** Takes the lock at once; returns undefined when another holder has it. */
  tryLock(path: string): Promise<Lock | undefined>;
}
