/**
 * Commits of the ledger: trees, commit objects, and moves of `HEAD`. A lock that a killed git left
 * is removed after a short wait. Does not decide what is committed. The caller must hold the ledger
 * lock.
 *
 * @module
 */

import type { Git, LedgerPorts, PreparedHead } from "core/ledger/git.ts";
import type { Paths } from "core/paths.ts";
import { ok, type Result } from "core/result.ts";

/** A running git holds a reference lock for milliseconds; an older lock is left over. */
const REF_LOCK_MS_MAX = 2_000;
const REF_LOCK_POLL_MS = 25;
/** The null object id: "no commit yet" when a reference moves, "no file" when an entry changes. */
export const NO_COMMIT = "0".repeat(40);
/** Writes the index as a tree, and a commit of that tree; returns the commit id. */
export async function record(
  git: Git,
  message: string,
  parents: readonly string[],
): Promise<Result<string>> {
  const tree = await git.run(["write-tree"]);
  return tree.ok ? await commitTree(git, tree.value.trim(), message, parents) : tree;
}

/** Writes a commit of a tree; no reference points to it yet. */
export async function commitTree(
  git: Git,
  tree: string,
  message: string,
  parents: readonly string[],
): Promise<Result<string>> {
  const commit = await git.run(
    ["commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent])],
    { input: `${message}\n` },
  );
  return commit.ok ? ok(commit.value.trim()) : commit;
}

/** Prepares the move of `HEAD`; fails if `HEAD` is no longer `old`. */
export async function prepare(
  ports: LedgerPorts,
  paths: Paths,
  git: Git,
  [commit, old]: readonly [commit: string, old: string],
): Promise<Result<PreparedHead>> {
  const prepared = await git.prepareHead(commit, old);
  return prepared.ok || !await clearRefLock(ports, paths)
    ? prepared
    : await git.prepareHead(commit, old);
}

/** Moves `HEAD` at once, for changes that switch no files. */
export async function publish(
  ports: LedgerPorts,
  paths: Paths,
  git: Git,
  [commit, old]: readonly [commit: string, old: string],
): Promise<Result<void>> {
  const prepared = await prepare(ports, paths, git, [commit, old]);
  const moved = prepared.ok ? await prepared.value.commit() : prepared;
  if (!moved.ok) return moved;
  await refreshDefaultIndex(ports, git);
  return ok(undefined);
}

/** Updates the person's own index, which their `git status` uses. */
export async function refreshDefaultIndex(ports: LedgerPorts, git: Git): Promise<void> {
  const refreshed = await git.run(["read-tree", "HEAD"], { usesDefaultIndex: true });
  if (!refreshed.ok) ports.log.warning("ledger-index-stale", { details: refreshed.error.details });
}

/**
 * Waits until the locks of the head are released; removes those that a killed git left. Returns
 * whether there was a lock.
 */
async function clearRefLock(ports: LedgerPorts, paths: Paths): Promise<boolean> {
  const head = await ports.files.readText(`${paths.repo}/.git/HEAD`);
  const branch = head?.match(/^ref: (refs\/heads\/[A-Za-z0-9._/-]+)\n?$/)?.[1];
  const locks = [branch ?? "HEAD", "HEAD"].map((name) => `${paths.repo}/.git/${name}.lock`);
  let hasWaited = false;
  for (const path of locks) {
    for (let waited = 0; await ports.files.stat(path) !== undefined; waited += REF_LOCK_POLL_MS) {
      hasWaited = true;
      if (waited >= REF_LOCK_MS_MAX) await ports.files.remove(path);
      else await ports.clock.sleep(REF_LOCK_POLL_MS);
    }
  }
  return hasWaited;
}

/** Returns the id of the newest commit; undefined if there is none. */
export async function readHead(git: Git): Promise<string | undefined> {
  const head = await git.run(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
  return head.ok ? head.value.trim() : undefined;
}
