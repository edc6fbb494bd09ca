/**
 * The `Files` port on the real disk: atomic writes that never follow links, and faults with code
 * and path. Locks are in `core/os/file_lock.ts`, modes and owners in `core/os/file_meta.ts`.
 *
 * A process that dies inside `write` can leave a temp file named `.<hex>.fleetctl-tmp`. It never
 * has more permissions than the file that it was to become. Why fleetctl has its own code:
 * ADR 0034.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { FileStat } from "core/files/file_stat.ts";
import { FileFault, type Files, type WriteOptions } from "core/ports/files.ts";
import { fileFault, posixCode } from "core/os/file_fault.ts";
import { fileLocks } from "core/os/file_lock.ts";
import { isSame, permissionBits, setMeta } from "core/os/file_meta.ts";
import { syncFolder } from "core/os/folder_sync.ts";
import { makeLink } from "core/os/link.ts";
import { readHead, readPlain } from "core/os/plain_file.ts";

const FILE_MODE = 0o644;
const FOLDER_MODE = 0o755;
/** Mode of a file until it has the requested owner. */
const UNOWNED_MODE = 0o600;
/** Regular files up to this size are read synchronously; larger ones asynchronously. */
const SYNC_READ_BYTES_MAX = 1024 * 1024;
/** Suffix of temp files. Their leading dot makes folder readers skip them. */
const TEMP_SUFFIX = ".fleetctl-tmp";

/** Returns the machine's file system. */
export function denoFiles(): Files {
  return {
    readText: async (path) => {
      const bytes = await readBytes(path);
      return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
    },
    readBytes,
    readPlain: async (path, of) => readPlain(path, of),
    readHead: async (path, bytesMax) => readHead(path, bytesMax),
    write: (path, data, options) => writeAtomically(path, data, options ?? {}),
    append: (path, data, mode) => append(path, data, { mode: mode ?? FILE_MODE, sync: false }),
    appendDurably: (path, data, mode) =>
      append(path, data, { mode: mode ?? FILE_MODE, sync: true }),
    ensureDir: (path, options) => ensureDir(path, options ?? {}),
    list,
    stat,
    readLink,
    realPath: (path) => guardAbsent("resolve", path, () => Deno.realPath(path)),
    symlink,
    rename,
    remove,
    setMeta: changeMeta,
    ...fileLocks(),
  };
}

/** Runs file system work; throws only `FileFault`. */
async function guard<T>(action: string, path: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw fileFault(action, path, thrown);
  }
}

/** Like `guard`, but returns undefined for a missing file. */
async function guardAbsent<T>(
  action: string,
  path: string,
  work: () => T | Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    if (posixCode(thrown) === "ENOENT") return undefined;
    throw fileFault(action, path, thrown);
  }
}

function folderOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash <= 0 ? "/" : path.slice(0, slash);
}

function tempBeside(path: string): string {
  const name = Array.from(
    crypto.getRandomValues(new Uint8Array(12)),
    (byte) => byte.toString(16).padStart(2, "0"),
  ).join("");
  return `${folderOf(path)}/.${name}${TEMP_SUFFIX}`.replace(/^\/\//, "/");
}

/** Reads regular files only: opening a named pipe would wait for its writer. */
function readBytes(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return guardAbsent("read", path, async () => {
    const info = Deno.statSync(path);
    if (info.isDirectory) throw new Deno.errors.IsADirectory("it is a folder");
    if (!info.isFile) throw notRegular("read", path);
    return info.size <= SYNC_READ_BYTES_MAX ? Deno.readFileSync(path) : await Deno.readFile(path);
  });
}

function notRegular(action: string, path: string): FileFault {
  return new FileFault(
    "EIO",
    path,
    `Cannot ${action} ${JSON.stringify(path)}: it is not a regular file`,
  );
}

async function writeAtomically(
  path: string,
  data: string | Uint8Array,
  options: WriteOptions,
): Promise<void> {
  const temp = tempBeside(path);
  const wanted = { ...options, mode: options.mode ?? FILE_MODE };
  const isOwned = options.uid === undefined && options.gid === undefined;
  await guard("write", path, async () => {
    // `createNew` also refuses to follow a link.
    const file = await Deno.open(temp, {
      createNew: true,
      write: true,
      mode: isOwned ? wanted.mode : UNOWNED_MODE,
    });
    try {
      await writeAll(file, data);
      await setMeta(temp, await file.stat(), wanted);
      await file.sync();
      await Deno.rename(temp, path);
    } catch (thrown) {
      await Deno.remove(temp).catch(() => {});
      throw thrown;
    } finally {
      file.close();
    }
    await syncFolder(folderOf(path));
  });
}

async function writeAll(file: Deno.FsFile, data: string | Uint8Array): Promise<void> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

async function append(
  path: string,
  data: string,
  options: { readonly mode: number; readonly sync: boolean },
): Promise<void> {
  await guard("append to", path, async () => {
    const { file, isNew } = await openToAppend(path, options.mode);
    try {
      await writeAll(file, data);
      if (options.sync) await file.sync();
    } finally {
      file.close();
    }
    if (options.sync && isNew) await syncFolder(folderOf(path));
  });
}

interface Opened {
  readonly file: Deno.FsFile;
  readonly isNew: boolean;
}

async function openToAppend(path: string, mode: number): Promise<Opened> {
  const existing = await openExisting(path);
  if (existing !== undefined) return { file: existing, isNew: false };
  try {
    const file = await Deno.open(path, { createNew: true, append: true, mode });
    await setMeta(path, await file.stat(), { mode });
    return { file, isNew: true };
  } catch (thrown) {
    // Another process created it meanwhile.
    const made = posixCode(thrown) === "EEXIST" ? await openExisting(path) : undefined;
    if (made === undefined) throw thrown;
    return { file: made, isNew: false };
  }
}

/**
 * Opens an existing file without following links: the opened file must be the one that lstat saw.
 */
async function openExisting(path: string): Promise<Deno.FsFile | undefined> {
  const seen = await Deno.lstat(path).catch((thrown) => {
    if (posixCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  });
  if (seen === undefined) return undefined;
  if (seen.isSymlink) throw linkFault("append to", path);
  if (seen.isDirectory) throw new Deno.errors.IsADirectory("it is a folder");
  if (!seen.isFile) throw notRegular("append to", path);
  const file = await Deno.open(path, { append: true });
  if (isSame(seen, await file.stat())) return file;
  file.close();
  throw linkFault("append to", path);
}

function linkFault(action: string, path: string): FileFault {
  return new FileFault(
    "ELOOP",
    path,
    `Cannot ${action} ${JSON.stringify(path)}: it is a symbolic link, must not be one`,
  );
}

async function ensureDir(path: string, options: WriteOptions): Promise<void> {
  await guard("create", path, async () => {
    const made = await makeFolder(path, options.mode ?? FOLDER_MODE);
    const mode = options.mode ?? (made ? FOLDER_MODE : undefined);
    if (mode === undefined && options.uid === undefined && options.gid === undefined) return;
    const seen = await Deno.lstat(path);
    if (seen.isSymlink) throw linkFault("change", path);
    await setMeta(path, seen, { ...options, ...defined({ mode }) });
    if (made) await syncParent(path);
  });
}

/**
 * Syncs the parent folder if this program may open it. Without that permission the new entry is
 * only as durable as the file system makes it; the file's contents are synced in any case.
 */
async function syncParent(path: string): Promise<void> {
  try {
    await syncFolder(folderOf(path));
  } catch (thrown) {
    if (!(thrown instanceof Deno.errors.NotCapable)) throw thrown;
  }
}

/** Creates a folder and its parents; returns whether the last one is new. */
async function makeFolder(path: string, mode: number): Promise<boolean> {
  try {
    await Deno.mkdir(path, { mode });
    return true;
  } catch (thrown) {
    const code = posixCode(thrown);
    if (code === "ENOENT" && path !== "/") {
      await ensureDir(folderOf(path), {});
      return await makeFolder(path, mode);
    }
    if (code !== "EEXIST") throw thrown;
    if (!(await Deno.stat(path)).isDirectory) {
      throw new FileFault("ENOTDIR", path, `Cannot create ${JSON.stringify(path)}: it is a file`);
    }
    return false;
  }
}

async function list(path: string): Promise<readonly string[]> {
  const names = await guardAbsent("list", path, async () => {
    const found: string[] = [];
    for await (const entry of Deno.readDir(path)) found.push(entry.name);
    return found;
  });
  return (names ?? []).sort();
}

function stat(path: string): Promise<FileStat | undefined> {
  return guardAbsent("look at", path, async () => {
    const info = await Deno.lstat(path);
    return {
      kind: kindOf(info),
      mode: permissionBits(info),
      uid: info.uid ?? 0,
      gid: info.gid ?? 0,
      size: info.size,
      mtimeMs: info.mtime?.getTime() ?? 0,
      ctimeMs: info.ctime?.getTime() ?? 0,
      dev: info.dev,
      ino: info.ino ?? 0,
    };
  });
}

function kindOf(info: Deno.FileInfo): FileStat["kind"] {
  if (info.isFile) return "file";
  if (info.isDirectory) return "directory";
  return info.isSymlink ? "symlink" : "other";
}

async function readLink(path: string): Promise<string | undefined> {
  return await guardAbsent("read the link", path, async () => {
    const info = await Deno.lstat(path);
    return info.isSymlink ? await Deno.readLink(path) : undefined;
  });
}

async function symlink(target: string, path: string): Promise<void> {
  const temp = tempBeside(path);
  await guard("link", path, async () => {
    makeLink(target, temp);
    try {
      await Deno.rename(temp, path);
    } catch (thrown) {
      await Deno.remove(temp).catch(() => {});
      throw thrown;
    }
    await syncFolder(folderOf(path));
  });
}

async function rename(from: string, to: string): Promise<void> {
  await guard("rename", from, async () => {
    await Deno.rename(from, to);
    await syncFolder(folderOf(to));
    if (folderOf(from) !== folderOf(to)) await syncFolder(folderOf(from));
  });
}

async function remove(path: string, options?: { readonly recursive?: boolean }): Promise<void> {
  await guardAbsent("remove", path, async () => {
    await Deno.remove(path, { recursive: options?.recursive ?? false });
    await syncFolder(folderOf(path));
  });
}

async function changeMeta(path: string, options: WriteOptions): Promise<void> {
  await guard("change the mode and owner of", path, async () => {
    const info = await Deno.lstat(path);
    if (info.isSymlink) throw linkFault("change the mode and owner of", path);
    await setMeta(path, info, options);
  });
}
