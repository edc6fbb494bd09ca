/**
 * Reads a file in a folder that belongs to another user. That user may put a link, a pipe or a
 * larger file in its place at any time. So the file is opened once, and all checks use the open
 * descriptor. A folder on the path may also be a link, and may change during the open. So the
 * file that `readPlain` opened must belong to the owner that the caller names: a user who redirects
 * the path can only expose another file with the same owner.
 *
 * @module
 */

import fs from "node:fs";
import { fileFault } from "core/os/file_fault.ts";
import type { FileHead, Files } from "core/ports/files.ts";

type PlainFile = Parameters<Files["readPlain"]>[1];

/** Non-blocking, because opening a pipe waits for its writer. */
const FLAGS = fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK;
/** The path does not exist, is a link or a socket, or has a file where a folder must be. */
const NO_FILE = ["ENOENT", "ELOOP", "ENXIO", "ENOTDIR"];

/**
 * Returns the text of a regular file with this owner and at most this size; undefined for anything
 * else.
 */
export function readPlain(path: string, { bytesMax, uid }: PlainFile): string | undefined {
  return withFile(path, (fd, stat) => {
    if (stat.uid !== uid || stat.size > bytesMax) return undefined;
    return new TextDecoder().decode(readAll(fd, stat.size));
  });
}

/** Returns the first bytes of a regular file, of any owner; undefined for anything else. */
export function readHead(path: string, bytesMax: number): FileHead | undefined {
  return withFile(path, (fd, { size }) => ({ bytes: readAll(fd, Math.min(size, bytesMax)), size }));
}

function withFile<T>(path: string, read: (fd: number, stat: fs.Stats) => T): T | undefined {
  let fd: number | undefined;
  try {
    fd = fs.openSync(path, FLAGS);
    const stat = fs.fstatSync(fd);
    return stat.isFile() ? read(fd, stat) : undefined;
  } catch (thrown) {
    const { code } = thrown as { readonly code?: unknown };
    if (NO_FILE.includes(String(code))) return undefined;
    throw fileFault("read", path, thrown);
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}

/** Reads at most `size` bytes, even when the file grows meanwhile. */
function readAll(fd: number, size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let at = 0;
  while (at < size) {
    const count = fs.readSync(fd, bytes, at, size - at, null);
    if (count === 0) break;
    at += count;
  }
  return bytes.subarray(0, at);
}
