/**
 * Converts file system errors to a `FileFault` with one of the codes of `core/ports/files.ts` and a
 * sentence that names the path. No I/O.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { FileFault } from "core/ports/files.ts";

/** The state that each code describes, for messages. */
const STATES: Readonly<Record<string, string>> = {
  ENOENT: "no such file or folder",
  EACCES: "permission denied",
  ENOSPC: "no space left on the disk",
  EEXIST: "something is already there",
  ENOTDIR: "a part of the path is not a folder",
  EROFS: "the file system is read-only",
  EISDIR: "it is a folder",
  ELOOP: "it is a symbolic link, must not be one",
};

/** POSIX names that callers treat as the same. */
const SAME_AS: Readonly<Record<string, string>> = {
  EPERM: "EACCES",
  EDQUOT: "ENOSPC",
  EFBIG: "ENOSPC",
  ENOTEMPTY: "EEXIST",
};

/** Deno's error classes without a code. */
const CODE_OF_NAME: Readonly<Record<string, string>> = {
  NotFound: "ENOENT",
  PermissionDenied: "EACCES",
  NotCapable: "EACCES",
  AlreadyExists: "EEXIST",
  NotADirectory: "ENOTDIR",
  IsADirectory: "EISDIR",
  FilesystemLoop: "ELOOP",
};

/** Returns the POSIX name of a thrown error, or `EIO`. */
export function posixCode(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "EIO";
  const { code } = thrown as { code?: unknown };
  const name = typeof code === "string" ? code : CODE_OF_NAME[thrown.name] ?? "EIO";
  const same = SAME_AS[name] ?? name;
  return same in STATES ? same : "EIO";
}

/** Returns the fault to throw for an action such as `write` on a path. */
export function fileFault(action: string, path: string, thrown: unknown): FileFault {
  if (thrown instanceof FileFault) return thrown;
  const code = posixCode(thrown);
  const state = thrown instanceof Error && thrown.name === "NotCapable"
    ? "outside the permission set of this program"
    : STATES[code] ?? errorText(thrown);
  return new FileFault(code, path, `Cannot ${action} ${JSON.stringify(path)}: ${state}`);
}
