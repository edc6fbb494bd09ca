/**
 * Prepares the ledger for a change. It completes a change that a crash interrupted, removes partly
 * written files, and commits edits made by hand as `recovered`.
 *
 * That commit leaves out the shard of an agent that does not parse, and any secret store that
 * fleetctl did not record. So the newest commit never contains a damaged version of these, and
 * `git checkout HEAD -- <file>` repairs them. A change that could open the store adopts it.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { commitTree, NO_COMMIT, publish, refreshDefaultIndex } from "core/ledger/commit.ts";
import { type Git, indexFile, type LedgerPorts } from "core/ledger/git.ts";
import { parseHostShard } from "core/ledger/host_shard.ts";
import { parseShard } from "core/ledger/shard.ts";
import { stagedPathOf, sweepFolders } from "core/ledger/stage.ts";
import { parseHostName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";

/** The state of a ledger that is ready for a change. */
export interface Healed {
  readonly head: string;
  /** Whether edits made outside of a recorded change were committed. */
  readonly hasRecovered: boolean;
  /** Files that differ from `head` and must not be committed in their current state. */
  readonly uncommitted: readonly string[];
}

/** A killed process leaves at most one running git, and each move of `HEAD` fails one attempt. */
const ATTEMPTS_MAX = 3;
const COMMIT_LINE = /^[0-9a-f]{40,64}\n$/;

/** Returns the path of the file that names the commit whose files are being switched. */
export function pendingFile(paths: Paths): string {
  return `${paths.repo}/.git/fleetctl.pending`;
}

/**
 * Makes files and `HEAD` consistent. The caller must hold the ledger lock. A git process that a
 * killed process left may still move `HEAD` to its commit; then this tries again.
 */
export async function heal(ports: LedgerPorts, paths: Paths, git: Git): Promise<Result<Healed>> {
  for (let attempt = 1;; attempt++) {
    const healed = await healOnce(ports, paths, git);
    const mayBeOver = !healed.ok && healed.error.code === "git-failed";
    if (!mayBeOver || attempt === ATTEMPTS_MAX) return healed;
  }
}

async function healOnce(ports: LedgerPorts, paths: Paths, git: Git): Promise<Result<Healed>> {
  if ((await ports.files.stat(`${paths.repo}/.git/HEAD`)) === undefined) {
    return err(
      refusal("ledger-missing", `Cannot use the ledger: "${paths.repo}" has no ledger`, {
        hints: ["fleetctl apply"],
      }),
    );
  }
  // Only holders of the ledger lock use this index, so its lock file is left over.
  await ports.files.remove(`${indexFile(paths)}.lock`);
  const completed = await completePending(ports, paths, git);
  if (!completed.ok) return completed;
  await sweepFolders(ports.files, paths);
  const added = await git.run(["add", "--all", "--", ".", ":(exclude,glob)**/.*.fleetctl-*"]);
  if (!added.ok) return added;
  const tree = await git.run(["write-tree"]);
  if (!tree.ok) return tree;
  const heads = await git.run(["rev-parse", "HEAD^{commit}", "HEAD^{tree}"]);
  if (!heads.ok) return heads;
  const [head = "", headTree = ""] = heads.value.trim().split("\n");
  if (tree.value.trim() === headTree) return ok({ head, hasRecovered: false, uncommitted: [] });
  return await commitHandEdits(ports, paths, git, { head, headTree });
}

/** Commits edits made by hand, except unreadable shards and the secret store. */
async function commitHandEdits(
  ports: LedgerPorts,
  paths: Paths,
  git: Git,
  { head, headTree }: { readonly head: string; readonly headTree: string },
): Promise<Result<Healed>> {
  const differing = await git.run(["diff-index", "--cached", "--name-only", "-z", head]);
  if (!differing.ok) return differing;
  const uncommitted: string[] = [];
  for (const name of differing.value.split("\0").filter((each) => each !== "")) {
    if (!await isReadable(ports, paths, name)) uncommitted.push(name);
  }
  if (uncommitted.length > 0) {
    ports.log.warning("ledger-left-out", { files: uncommitted });
    const restored = await restoreEntries(git, head, uncommitted);
    if (!restored.ok) return restored;
  }
  const tree = await git.run(["write-tree"]);
  if (!tree.ok) return tree;
  if (tree.value.trim() === headTree) return ok({ head, hasRecovered: false, uncommitted });
  const commit = await commitTree(
    git,
    tree.value.trim(),
    "recovered: files changed outside of a recorded change",
    [head],
  );
  if (!commit.ok) return commit;
  const published = await publish(ports, paths, git, [commit.value, head]);
  if (!published.ok) return published;
  ports.log.warning("ledger-recovered", { commit: commit.value });
  return ok({ head: commit.value, hasRecovered: true, uncommitted });
}

async function isReadable(ports: LedgerPorts, paths: Paths, name: string): Promise<boolean> {
  const path = `${paths.repo}/${name}`;
  if (path === paths.secretsFile) return false;
  const [, folder, stem = ""] = /^(agents|hosts)\.d\/([^/]+)\.yaml$/.exec(name) ?? [];
  if (folder === undefined) return true;
  const kind = (await ports.files.stat(path))?.kind;
  if (kind !== undefined && kind !== "file") return false;
  const text = await ports.files.readText(path);
  if (text === undefined) return true;
  if (folder === "agents") return parseShard(text, name).ok;
  const host = parseHostName(stem);
  return host.ok && parseHostShard(text, host.value, { file: name, path }).ok;
}

/** Resets entries of fleetctl's index to their state in a commit. */
async function restoreEntries(
  git: Git,
  commit: string,
  names: readonly string[],
): Promise<Result<void>> {
  const listed = await git.run(["ls-tree", "-z", commit, "--", ...names]);
  if (!listed.ok) return listed;
  const entries = listed.value.split("\0").filter((entry) => entry !== "");
  const known = new Set(entries.map((entry) => entry.slice(entry.indexOf("\t") + 1)));
  const absent = names.filter((name) => !known.has(name)).map((name) => `0 ${NO_COMMIT}\t${name}`);
  const input = [...entries, ...absent].map((entry) => `${entry}\0`).join("");
  const restored = await git.run(["update-index", "-z", "--index-info"], { input });
  return restored.ok ? ok(undefined) : restored;
}

/** One file of a pending commit. */
interface PendingFile {
  readonly name: string;
  readonly old: string;
  readonly new: string;
}

/**
 * Completes an interrupted switch of files: all of them become new. If a person has edited one of
 * them since, the pending commit is dropped and the files stay as found.
 */
async function completePending(
  ports: LedgerPorts,
  paths: Paths,
  git: Git,
): Promise<Result<void>> {
  const { files } = ports;
  const text = await files.readText(pendingFile(paths));
  if (text === undefined) return ok(undefined);
  const commit = COMMIT_LINE.test(text) ? text.trim() : undefined;
  const heads = await git.run(["rev-parse", "HEAD^{commit}"]);
  if (!heads.ok) return heads;
  const head = heads.value.trim();
  const pending = commit === undefined || commit === head
    ? undefined
    : await readPending(git, commit, head);
  if (commit !== undefined && pending !== undefined) {
    const isWhole = await checkPending(ports, paths, git, pending);
    if (!isWhole.ok) return isWhole;
    if (isWhole.value) {
      for (const file of pending) await switchPending(ports, paths, file);
      const published = await publish(ports, paths, git, [commit, head]);
      if (!published.ok) return published;
      ports.log.warning("ledger-completed", { commit });
    }
  }
  if (commit === head) await refreshDefaultIndex(ports, git);
  await files.remove(pendingFile(paths));
  return ok(undefined);
}

/**
 * Returns undefined if the commit is not the direct child of `head`, or its objects are missing.
 */
async function readPending(
  git: Git,
  commit: string,
  head: string,
): Promise<readonly PendingFile[] | undefined> {
  const parents = await git.run(["rev-list", "--parents", "-1", commit]);
  if (!parents.ok || parents.value.trim() !== `${commit} ${head}`) return undefined;
  const diff = await git.run(["diff-tree", "-r", "-z", "--no-renames", head, commit]);
  if (!diff.ok) return undefined;
  const parts = diff.value.split("\0").filter((part) => part !== "");
  const found: PendingFile[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, , before = "", after = ""] = (parts[at] ?? "").split(" ");
    found.push({ name: parts[at + 1] ?? "", old: before, new: after });
  }
  return found;
}

/**
 * Tells whether each file is the old one with its staged version beside it, or already the new one.
 */
async function checkPending(
  ports: LedgerPorts,
  paths: Paths,
  git: Git,
  pending: readonly PendingFile[],
): Promise<Result<boolean>> {
  const candidates = pending.flatMap(({ name }) => {
    const path = `${paths.repo}/${name}`;
    return [path, stagedPathOf(path)];
  });
  const existing: string[] = [];
  for (const path of candidates) {
    if ((await ports.files.stat(path))?.kind === "file") existing.push(path);
  }
  const hashed = await git.run(["hash-object", "--no-filters", "--stdin-paths"], {
    input: existing.map((path) => `${path}\n`).join(""),
  });
  if (!hashed.ok) return hashed;
  const ids = hashed.value.trim().split("\n");
  const idOf = (path: string) => {
    const at = existing.indexOf(path);
    return at === -1 ? NO_COMMIT : ids[at] ?? NO_COMMIT;
  };
  return ok(pending.every((file) => {
    const path = `${paths.repo}/${file.name}`;
    const now = idOf(path);
    if (now === file.new) return true;
    return now === file.old && (file.new === NO_COMMIT || idOf(stagedPathOf(path)) === file.new);
  }));
}

async function switchPending(
  { files }: LedgerPorts,
  paths: Paths,
  file: PendingFile,
): Promise<void> {
  const path = `${paths.repo}/${file.name}`;
  if (file.new === NO_COMMIT) await files.remove(path);
  else if (await files.stat(stagedPathOf(path)) !== undefined) {
    await files.rename(stagedPathOf(path), path);
  }
}
