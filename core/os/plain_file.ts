/**
 * Reading a file whose folder belongs to somebody else, who may put a link, a pipe or a larger file
 * in its place at any time: it is opened once, and what is asked is asked of what was opened. A
 * folder on the way may be a link as well, and may be exchanged while it is passed: so the file
 * that was opened must belong to the owner that the caller names. Whoever bends the way then only
 * shows another file of his own.
 *
 * @module
 */

import fs from "node:fs";
import { fileFault } from "core/os/file_fault.ts";
import type { Files } from "core/ports/files.ts";

type PlainFile = Parameters<Files["readPlain"]>[1];

/** Without waiting, because opening a pipe waits for its writer. */
const FLAGS = fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK;
/** Nothing is there, or a link, or a socket, or a file on the way where a folder must be. */
const NO_FILE = ["ENOENT", "ELOOP", "ENXIO", "ENOTDIR"];

/** Returns the text of a plain file of this size and owner; undefined for anything else. */
export function readPlain(path: string, { bytesMax, uid }: PlainFile): string | undefined {
  let fd: number | undefined;
  try {
    fd = fs.openSync(path, FLAGS);
    const stat = fs.fstatSync(fd);
    if (!stat.isFile() || stat.uid !== uid || stat.size > bytesMax) return undefined;
    return new TextDecoder().decode(readAll(fd, stat.size));
  } catch (thrown) {
    const { code } = thrown as { readonly code?: unknown };
    if (NO_FILE.includes(String(code))) return undefined;
    throw fileFault("read", path, thrown);
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}

/** Reads no more than there was, even when the file grows meanwhile. */
function readAll(fd: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let at = 0;
  while (at < size) {
    const count = fs.readSync(fd, bytes, at, size - at, null);
    if (count === 0) break;
    at += count;
  }
  return bytes.subarray(0, at);
}
