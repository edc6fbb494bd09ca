/**
 * Lints only the files that changed since they last passed. The rules check one file at a time, so
 * a result stays valid while the file and the rules do not change. For `./dev check`; `./dev test`
 * lints every file.
 *
 * @module
 */

import { TREE, treeFiles } from "tests/support/module_graph.ts";

const KNOWN = `${TREE}.cache/lint.json`;
/** The files that define the rules. */
const RULES = ["deno.json", "gateway/web/deno.json", "tests/support/lint_plugin.ts"];

/** Hashes of files that passed, by path, under one set of rules. */
interface Known {
  readonly rules: string;
  readonly files: Readonly<Record<string, string>>;
}

/** Returns the files whose content has not passed yet; hashes are by path. */
export function filesToLint(
  known: Pick<Known, "files">,
  files: Readonly<Record<string, string>>,
): readonly string[] {
  return Object.keys(files).filter((path) => files[path] !== known.files[path]);
}

async function hashOf(path: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(TREE + path));
  return new Uint8Array(digest).toHex();
}

async function readKnown(rules: string): Promise<Known> {
  const text = await Deno.readTextFile(KNOWN).catch(() => "{}");
  const known = JSON.parse(text) as Partial<Known>;
  return known.rules === rules ? { rules, files: known.files ?? {} } : { rules, files: {} };
}

async function main(): Promise<number> {
  const rules = [Deno.version.deno, ...await Promise.all(RULES.map(hashOf))].join(" ");
  const known = await readKnown(rules);
  const files: Record<string, string> = {};
  for (const path of await treeFiles(".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs")) {
    files[path] = await hashOf(path);
  }
  const changed = filesToLint(known, files);
  if (changed.length > 0) {
    const lint = new Deno.Command(Deno.execPath(), { args: ["lint", "-q", ...changed], cwd: TREE });
    const { code } = await lint.spawn().status;
    if (code !== 0) return code;
  }
  await Deno.writeTextFile(KNOWN, JSON.stringify({ rules, files }));
  return 0;
}

if (import.meta.main) Deno.exit(await main());
