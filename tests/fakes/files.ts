/**
 * An in-memory file system that fulfils the contract of `Files`: modes, owners, links, atomic
 * writes, locks, and faults with code and path. A test can make its n-th change fail.
 *
 * @module
 */

import type { FileStat } from "core/files/file_stat.ts";
import { FileFault, type Files, type Lock, type WriteOptions } from "core/ports/files.ts";
import { FileTree, type Node } from "tests/fakes/file_tree.ts";

/** The file system and a record of its changes. */
export interface MemoryFiles extends Files {
  /** Every requested change, oldest first: `write /etc/fleetctl/host.yaml`. */
  readonly changes: readonly string[];
  /** Makes the n-th change from now (1 is the next) fail with `code`; it then changes nothing. */
  failAt(step: number, code: string): void;
  /** Makes every change under a path fail with `code`; undefined ends that. */
  failUnder(path: string, code: string | undefined): void;
  /** Returns the paths of all files and links, sorted. */
  paths(): readonly string[];
  /** Returns the text of a file synchronously; undefined when the file does not exist. */
  text(path: string): string | undefined;
}

/** Runs one change completely, or fails and changes nothing. */
type Change = <T>(verb: string, path: string, work: () => T) => Promise<T>;

/** Creates a file system with the given files: path → text. */
export function memoryFiles(
  initial: Readonly<Record<string, string>> = {},
  options: { readonly now?: () => number; readonly uid?: number; readonly gid?: number } = {},
): MemoryFiles {
  const tree = new FileTree({
    now: options.now ?? (() => 0),
    uid: options.uid,
    gid: options.gid,
  });
  for (const [path, text] of Object.entries(initial)) {
    tree.makeFolders(parentOf(path));
    tree.replace(path, tree.file(new TextEncoder().encode(text), { mode: 0o644 }), "write");
  }
  const changes: string[] = [];
  const failures = new Map<number, string>();
  const broken = new Map<string, string>();
  const change: Change = async (verb, path, work) => {
    changes.push(`${verb} ${path}`);
    const code = failures.get(changes.length) ??
      [...broken].find(([root]) => path === root || path.startsWith(`${root}/`))?.[1];
    failures.delete(changes.length);
    if (code === undefined) return work();
    throw new FileFault(code, path, `Cannot ${verb} ${JSON.stringify(path)}: ${code}, as told`);
  };
  return {
    changes,
    failAt: (step, code) => void failures.set(changes.length + step, code),
    failUnder: (path, code) =>
      code === undefined ? void broken.delete(path) : void broken.set(path, code),
    paths: () => tree.leaves(),
    text: (path) => {
      const node = tree.find(path, true);
      return node?.kind === "file" ? new TextDecoder().decode(node.bytes) : undefined;
    },
    ...readingOf(tree),
    ...writingOf(tree, change),
    ...placingOf(tree, change),
    ...memoryLocks((path) => touchLock(tree, path)),
  };
}

function readingOf(
  tree: FileTree,
): Pick<
  Files,
  "readBytes" | "readText" | "readPlain" | "readHead" | "list" | "stat" | "readLink" | "realPath"
> {
  const readBytes = async (path: string) => {
    const node = tree.find(path, true);
    if (node === undefined) return undefined;
    if (node.kind !== "file") throw tree.fault("EISDIR", path, "read");
    return Uint8Array.from(node.bytes);
  };
  return {
    readBytes,
    readText: async (path) => {
      const bytes = await readBytes(path);
      return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
    },
    readPlain: async (path, { bytesMax, uid }) => {
      const node = tree.find(path, false);
      if (node?.kind !== "file" || node.bytes.length > bytesMax) return undefined;
      if (statOf(node).uid !== uid) return undefined;
      return new TextDecoder().decode(node.bytes);
    },
    readHead: async (path, bytesMax) => {
      const node = tree.find(path, false);
      if (node?.kind !== "file") return undefined;
      return { bytes: Uint8Array.from(node.bytes.subarray(0, bytesMax)), size: node.bytes.length };
    },
    list: async (path) => {
      const node = tree.find(path, true);
      if (node === undefined) return [];
      if (node.kind !== "directory") throw tree.fault("ENOTDIR", path, "list");
      return [...node.entries.keys()].sort();
    },
    stat: async (path) => {
      const node = tree.find(path, false);
      return node === undefined ? undefined : statOf(node);
    },
    readLink: async (path) => {
      const node = tree.find(path, false);
      return node?.kind === "symlink" ? node.target : undefined;
    },
    realPath: async (path) => tree.realPath(path),
  };
}

function writingOf(
  tree: FileTree,
  change: Change,
): Pick<Files, "write" | "append" | "appendDurably" | "ensureDir" | "setMeta"> {
  return {
    write: (path, data, given = {}) =>
      change("write", path, () => {
        const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
        const made = tree.file(Uint8Array.from(bytes), { mode: 0o644, ...defined(given) });
        tree.replace(path, made, "write");
      }),
    append: (path, data, mode) => change("append", path, () => append(tree, path, { data, mode })),
    appendDurably: (path, data, mode) =>
      change("append", path, () => append(tree, path, { data, mode })),
    ensureDir: (path, given = {}) => change("ensureDir", path, () => ensureDir(tree, path, given)),
    setMeta: (path, given) =>
      change("setMeta", path, () => {
        const node = tree.find(path, false);
        if (node === undefined) throw tree.fault("ENOENT", path, "change the owner of");
        if (node.kind === "symlink") throw tree.fault("ELOOP", path, "change the owner of");
        Object.assign(node, defined(given));
      }),
  };
}

function placingOf(
  tree: FileTree,
  change: Change,
): Pick<Files, "symlink" | "rename" | "remove"> {
  return {
    symlink: (target, path) =>
      change("symlink", path, () => tree.replace(path, tree.link(target), "link")),
    rename: (from, to) =>
      change("rename", from, () => {
        const node = tree.find(from, false);
        if (node === undefined) throw tree.fault("ENOENT", from, "rename");
        if (from === to) return;
        tree.replace(to, node, "rename");
        tree.drop(from);
      }),
    remove: (path, given) =>
      change("remove", path, () => {
        const node = tree.find(path, false);
        if (node === undefined) return;
        if (node.kind === "directory" && node.entries.size > 0 && given?.recursive !== true) {
          throw tree.fault("EEXIST", path, "remove");
        }
        tree.drop(path);
      }),
  };
}

function touchLock(tree: FileTree, path: string): void {
  const node = tree.find(path, false);
  if (node?.kind === "symlink") throw tree.fault("ELOOP", path, "lock");
  if (node === undefined) {
    tree.replace(path, tree.file(new Uint8Array(), { mode: 0o600 }), "lock");
  }
}

function append(
  tree: FileTree,
  path: string,
  more: { readonly data: string; readonly mode: number | undefined },
): void {
  const node = tree.find(path, false);
  if (node?.kind === "symlink") throw tree.fault("ELOOP", path, "append to");
  if (node?.kind === "directory") throw tree.fault("EISDIR", path, "append to");
  const before = node?.bytes ?? new Uint8Array();
  const bytes = Uint8Array.from([...before, ...new TextEncoder().encode(more.data)]);
  tree.replace(path, tree.file(bytes, node ?? { mode: more.mode ?? 0o644 }), "append to");
}

function ensureDir(
  tree: FileTree,
  path: string,
  options: WriteOptions,
): void {
  const before = tree.find(path, false);
  const node = tree.makeFolders(path);
  const asksForMore = options.mode !== undefined || options.uid !== undefined ||
    options.gid !== undefined;
  if (before?.kind === "symlink" && asksForMore) throw tree.fault("ELOOP", path, "create");
  node.mode = options.mode ?? node.mode;
  node.uid = options.uid ?? node.uid;
  node.gid = options.gid ?? node.gid;
}

function memoryLocks(touch: (path: string) => void): Pick<Files, "lock" | "tryLock"> {
  const holders = new Map<string, (() => void)[]>();
  const take = (path: string): Lock => {
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return Promise.resolve();
        isHeld = false;
        const next = holders.get(path)?.shift();
        if (next === undefined) holders.delete(path);
        else next();
        return Promise.resolve();
      },
    };
  };
  return {
    tryLock: async (path) => {
      touch(path);
      if (holders.has(path)) return undefined;
      holders.set(path, []);
      return take(path);
    },
    lock: async (path, signal) => {
      signal?.throwIfAborted();
      touch(path);
      const queue = holders.get(path);
      if (queue === undefined) {
        holders.set(path, []);
        return take(path);
      }
      await new Promise<void>((resolve, reject) => {
        const enter = () => {
          signal?.removeEventListener("abort", leave);
          resolve();
        };
        const leave = () => {
          queue.splice(queue.indexOf(enter), 1);
          reject(signal?.reason);
        };
        queue.push(enter);
        signal?.addEventListener("abort", leave, { once: true });
      });
      return take(path);
    },
  };
}

function statOf(node: Node): FileStat {
  const size = node.kind === "file"
    ? node.bytes.length
    : node.kind === "symlink"
    ? node.target.length
    : 0;
  const { kind, mode, uid, gid, mtimeMs, ino } = node;
  return { kind, mode, uid, gid, size, mtimeMs, ctimeMs: mtimeMs, dev: 1, ino };
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** Drops keys whose value is undefined, so that defaults apply. */
function defined(options: WriteOptions): WriteOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
