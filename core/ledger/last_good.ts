/**
 * Finds the newest readable version of a ledger file or folder in the history. It is used in place
 * of one that a person has broken, so that a typing error removes nothing. Reads git, writes
 * nothing.
 * Why the history and not a copy: docs/activation.md#a-file-that-cannot-be-read.
 *
 * @module
 */

import { type Git, type LedgerPorts, openGit } from "core/ledger/git.ts";
import type { Paths } from "core/paths.ts";
import { ok, type Result } from "core/result.ts";

/** Texts by path relative to the repository. */
export type CommittedFiles = ReadonlyMap<string, string>;

/**
 * The result: a readable version and its commit; `absent` if the history has none; `bad` if the
 * search gave up after `VERSIONS_MAX` unreadable ones.
 */
export type LastGood<T> =
  | { readonly kind: "good"; readonly value: T; readonly commit: string }
  | { readonly kind: "absent" }
  | { readonly kind: "bad" };

/** Most versions that are checked; with this many unreadable ones, the search gives up. */
export const VERSIONS_MAX = 32;
const PLAIN_FILE = /^100(?:644|755) blob ([0-9a-f]+)\t(.+)$/s;

/**
 * Returns the newest version of `name` that `read` accepts. The search ends at the last commit
 * without the file, so that a new file never brings back a removed one of the same name. Refuses if
 * git fails.
 */
export async function lastGood<T>(
  ports: LedgerPorts,
  paths: Paths,
  { name, read }: {
    readonly name: string;
    readonly read: (files: CommittedFiles) => Result<T> | Promise<Result<T>>;
  },
): Promise<Result<LastGood<T>>> {
  if (await ports.files.stat(`${paths.repo}/.git/HEAD`) === undefined) {
    return ok({ kind: "absent" });
  }
  const git = await openGit(ports, paths);
  if (!git.ok) return git;
  const where = `:(literal)${name}`;
  const logged = await git.value.run(["log", `-${VERSIONS_MAX}`, "--format=%H", "--", where]);
  if (!logged.ok) return logged;
  const commits = logged.value.split("\n").filter((line) => line !== "");
  for (const commit of commits) {
    const files = await filesAt(git.value, commit, name);
    if (!files.ok) return files;
    if (files.value === undefined) return ok({ kind: "absent" });
    const value = await read(files.value);
    if (value.ok) return ok({ kind: "good", value: value.value, commit });
  }
  return ok({ kind: commits.length < VERSIONS_MAX ? "absent" : "bad" });
}

/**
 * Returns the plain files of one commit, without links and submodules; undefined if there are none.
 */
async function filesAt(
  git: Git,
  commit: string,
  name: string,
): Promise<Result<CommittedFiles | undefined>> {
  const listed = await git.run(["ls-tree", "-r", "-z", "--full-tree", commit, "--", name]);
  if (!listed.ok || listed.value === "") return listed.ok ? ok(undefined) : listed;
  const files = new Map<string, string>();
  for (const entry of listed.value.split("\0")) {
    const [, blob, path] = PLAIN_FILE.exec(entry) ?? [];
    if (blob === undefined || path === undefined) continue;
    const text = await git.run(["cat-file", "blob", blob]);
    if (!text.ok) return text;
    files.set(path, text.value);
  }
  return ok(files);
}
