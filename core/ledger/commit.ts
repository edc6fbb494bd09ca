/**
 * Commits of the ledger: trees, commit objects, and the move of `HEAD`, which no killed git can
 * block for long. Decides nothing about what is in them; for the holder of the ledger's lock.
 *
 * @module
 */

import type { Git, LedgerPorts, PreparedHead } from "core/ledger/git.ts";
import type { Paths } from "core/paths.ts";
import { ok, type Result } from "core/result.ts";

/** A live git holds the lock of a reference for milliseconds; after this it is left over. */
const REF_LOCK_MS_MAX = 2_000;
const REF_LOCK_POLL_MS = 25;
/** Stands for "no commit yet" where a reference moves, and for "no file" where one changes. */
export const NO_COMMIT = "0".repeat(40);
/** Writes the index as a tree, and a commit of it. */
export async function record(
  git: Git,
  message: string,
  parents: readonly string[],
): Promise<Result<string>> {
  const tree = await git.run(["write-tree"]);
  return tree.ok ? await commitTree(git, tree.value.trim(), message, parents) : tree;
}

/** Writes a commit of a tree; no reference reaches it yet. */
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

/** Gets `HEAD` ready to move, if it still is where this change began. */
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

/** Moves `HEAD` at once, where no file has to be switched with it. */
export async function publish(
  ports: LedgerPorts,
  paths: Paths,
  git: Git,
  [commit, old]: readonly [commit: string, old: string],
): Promise<Result<void>> {
  const prepared = await prepare(ports, paths, git, [commit, old]);
  const moved = prepared.ok ? await prepared.value.commit() : prepared;
  if (!moved.ok) return moved;
  await refreshPersonsIndex(ports, git);
  return ok(undefined);
}

/** For people only: their `git status` compares with their own index. */
export async function refreshPersonsIndex(ports: LedgerPorts, git: Git): Promise<void> {
  const refreshed = await git.run(["read-tree", "HEAD"], { isPersonsIndex: true });
  if (!refreshed.ok) ports.log.warning("ledger-index-stale", { details: refreshed.error.details });
}

/** Waits for the lock of the head to go; takes it away when it was left by a killed git. */
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

/** Returns the id of the newest commit, or undefined when there is none. */
export async function readHead(git: Git): Promise<string | undefined> {
  const head = await git.run(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
  return head.ok ? head.value.trim() : undefined;
}
