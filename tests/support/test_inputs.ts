/**
 * One hash over everything that a test file's outcome depends on: its text, its imports, Deno,
 * Deno's settings and the lock file. When an import reads files of the tree, the hash covers every
 * file of the tree. `./dev check` skips files whose hash has passed before; `./dev test` runs every
 * file.
 *
 * @module
 */

import { type Graph, reachedFrom, readGraph, TREE, treeFiles } from "tests/support/module_graph.ts";

const KNOWN = `${TREE}.cache/unit.json`;
/** What every test depends on besides its imports. */
const SETTINGS = ["deno.json", "deno.lock", "gateway/web/deno.json"];
/** Code that locates files of the tree: by its own location, by the working folder, by a path. */
const FINDS_FILES = new RegExp(
  /\bimport\.meta\b|\bTREE\b|\bDeno\.(cwd|execPath)\b/.source +
    /|^(?!import\b|.*\bfrom ").*["'`](docs|tests|core|cli|gateway|login|teamchat|units)\//.source,
  "m",
);

/** A snapshot of the tree. */
export interface TreeState {
  /** What the tests import. */
  readonly graph: Graph;
  /** Hashes of contents, by path. */
  readonly hashes: Readonly<Record<string, string>>;
  /** Files whose code locates files of the tree. */
  readonly finders: ReadonlySet<string>;
}

/** Returns the hash of each test file's inputs. */
export async function inputHashes(
  files: readonly string[],
  { graph, hashes, finders }: TreeState,
): Promise<Readonly<Record<string, string>>> {
  const all = Object.keys(hashes).sort();
  const found: Record<string, string> = {};
  for (const file of files) {
    const reached = [...reachedFrom(graph, [file]).files];
    const inputs = reached.some((one) => finders.has(one)) ? all : [...reached, ...SETTINGS].sort();
    const lines = inputs.map((path) => `${path} ${hashes[path]}\n`);
    found[file] = await hashOf(new TextEncoder().encode(Deno.version.deno + lines.join("")));
  }
  return found;
}

/** Reads the current state of the tree. */
export async function readTreeState(files: readonly string[]): Promise<TreeState> {
  const hashes: Record<string, string> = {};
  const finders = new Set<string>();
  const [graph, paths] = await Promise.all([readGraph(files), treeFiles("")]);
  for (const path of paths) {
    const bytes = await Deno.readFile(TREE + path);
    hashes[path] = await hashOf(bytes);
    const isCode = graph.files.has(path) && /\.tsx?$/.test(path);
    if (isCode && FINDS_FILES.test(new TextDecoder().decode(bytes))) finders.add(path);
  }
  return { graph, hashes, finders };
}

/** Returns the hashes that have passed, by test file. */
export async function readPassed(): Promise<Readonly<Record<string, string>>> {
  return JSON.parse(await Deno.readTextFile(KNOWN).catch(() => "{}"));
}

/** Stores the hashes of files that have passed. */
export async function writePassed(passed: Readonly<Record<string, string>>): Promise<void> {
  await Deno.writeTextFile(KNOWN, JSON.stringify(passed));
}

async function hashOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
