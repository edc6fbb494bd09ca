/**
 * The adapter of `Trees`: copies, hashes and fingerprints whole package trees. Synchronous on
 * purpose: a tree of a thousand small files takes about 50 ms. Only verbs, `up` and the check
 * before a server starts use it.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { relative, resolve } from "node:path";
import { fileFault } from "core/os/file_fault.ts";
import { makeLink } from "core/os/link.ts";
import { FileFault } from "core/ports/files.ts";
import { STAMP_END, STAMP_FORMAT, type Trees } from "core/ports/trees.ts";

/** Limits of one tree; the largest known server has 14,000 files and 90 MB. */
const ENTRIES_MAX = 200_000;
const BYTES_MAX = 4 * 1024 ** 3;
const DEPTH_MAX = 64;
const EXECUTE_BITS = 0o111;

/** Returns the machine's trees. */
export function denoTrees(): Trees {
  return {
    copy: async (from, to, skip) => guarded("copy", from, () => copyTree(from, to, skip)),
    prune: async (folder, isUnused) =>
      guarded("prune", folder, () => {
        for (const { kind, name, path } of walk(folder)) {
          if (kind === "file" && isUnused(name)) Deno.removeSync(path);
        }
      }),
    summarize: async (folder) => guarded("read", folder, () => hashEntries(walk(folder))),
    fingerprint: fingerprintOf,
  };
}

function guarded<T>(action: string, path: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw fileFault(action, path, thrown);
  }
}

interface Entry {
  /** Path relative to the tree, `/`-separated. */
  readonly name: string;
  readonly path: string;
  readonly kind: "file" | "folder" | "link";
  readonly info: Deno.FileInfo;
  /** Target of a link. */
  readonly target: string;
}

/** Lists a tree sorted by name; refuses entries that cannot belong to a package tree. */
function walk(root: string, skip: readonly string[] = []): readonly Entry[] {
  const entries: Entry[] = [];
  const visit = (folder: string, prefix: string, depth: number) => {
    if (depth > DEPTH_MAX) throw new FileFault("EIO", folder, `"${folder}" is nested too deeply`);
    for (const found of Deno.readDirSync(folder)) {
      if (skip.includes(found.name)) continue;
      const path = `${folder}/${found.name}`;
      const name = `${prefix}${found.name}`;
      const info = Deno.lstatSync(path);
      if (entries.length >= ENTRIES_MAX) {
        throw new FileFault("EIO", root, `"${root}" has more than ${ENTRIES_MAX} entries`);
      }
      if (info.isSymlink) {
        entries.push({ name, path, kind: "link", info, target: innerTarget(root, path) });
      } else if (info.isDirectory) {
        entries.push({ name, path, kind: "folder", info, target: "" });
        visit(path, `${name}/`, depth + 1);
      } else if (info.isFile) {
        entries.push({ name, path, kind: "file", info, target: "" });
      } else {
        throw new FileFault("EIO", path, `"${path}" is neither a file, a folder nor a link`);
      }
    }
  };
  visit(root, "", 0);
  return entries.sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}

/**
 * Returns the target of a link; refuses one that may leave the tree, because the tree's hash would
 * not cover the code that runs. The text of a target shows where it leads only if every `..` comes
 * first. A `..` after a folder is refused, because that folder may be a link itself. The rest of
 * the target is inside the tree, where each link is checked in the same way.
 */
function innerTarget(root: string, path: string): string {
  const target = Deno.readLinkSync(path);
  const words = target.split("/").filter((word) => word !== "" && word !== ".");
  const ups = words.findIndex((word) => word !== "..");
  const isDirect = ups < 0 || !words.slice(ups).includes("..");
  const within = relative(root, resolve(path, "..", target));
  if (target.startsWith("/") || within === ".." || within.startsWith("../") || !isDirect) {
    throw new FileFault("ELOOP", path, `"${path}" is a link that may lead out of its tree`);
  }
  return target;
}

function isProgram(info: Deno.FileInfo): boolean {
  return ((info.mode ?? 0) & EXECUTE_BITS) !== 0;
}

function copyTree(from: string, to: string, skip: readonly string[]): void {
  Deno.mkdirSync(to, { recursive: true });
  Deno.chmodSync(to, 0o755);
  for (const entry of walk(from, skip)) {
    const path = `${to}/${entry.name}`;
    if (entry.kind === "folder") {
      Deno.mkdirSync(path);
      Deno.chmodSync(path, 0o755);
    } else if (entry.kind === "link") {
      makeLink(entry.target, path);
    } else {
      Deno.copyFileSync(entry.path, path);
      Deno.chmodSync(path, isProgram(entry.info) ? 0o755 : 0o644);
    }
  }
}

/** Hashes one line per entry: kind, mode class, hash or target, and the name as JSON. */
function hashEntries(entries: readonly Entry[]) {
  const whole = createHash("sha256");
  let files = 0;
  let bytes = 0;
  for (const entry of entries) {
    const name = JSON.stringify(entry.name);
    if (entry.kind === "folder") {
      whole.update(`d ${name}\n`);
    } else if (entry.kind === "link") {
      whole.update(`l ${JSON.stringify(entry.target)} ${name}\n`);
    } else {
      const data = Deno.readFileSync(entry.path);
      files++;
      bytes += data.length;
      if (bytes > BYTES_MAX) throw new FileFault("EIO", entry.path, "The tree is too large");
      const hash = createHash("sha256").update(data).digest("hex");
      whole.update(`f ${(entry.info.mode ?? 0) & 0o7777} ${hash} ${name}\n`);
    }
  }
  return { treeHash: `sha256-${whole.digest("base64")}`, files, bytes };
}

/**
 * Computes the fingerprint with `find`, because Deno reports change times in whole seconds. The
 * check before a start computes the same in `sh` (`units/render/checked.ts`).
 */
async function fingerprintOf(root: string): Promise<string> {
  if (!Deno.lstatSync(root).isDirectory) {
    throw new FileFault("ENOTDIR", root, `"${root}" is not a folder`);
  }
  const found = await new Deno.Command("find", {
    args: [".", "-mindepth", "1", "-printf", STAMP_FORMAT],
    cwd: root,
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).output().catch((thrown) => {
    if (thrown instanceof Deno.errors.NotFound) return undefined;
    throw fileFault("read", root, thrown);
  });
  if (found?.success !== true) return "";
  const whole = createHash("sha256").update(found.stdout).update(`${STAMP_END}\0`);
  return whole.digest("hex");
}
