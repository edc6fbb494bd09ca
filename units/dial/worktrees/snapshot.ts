/**
 * A snapshot of a worktree: one commit with all files that git does not ignore, on a ref of
 * fleetctl. Branch, index and files stay unchanged.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Git, type GitFault, isDiskFull } from "units/dial/worktrees/git.ts";

/** The worktree, and what names its snapshot. */
export interface SnapshotContext {
  readonly git: Git;
  readonly files: Pick<Files, "stat" | "remove" | "ensureDir">;
  readonly conversation: string;
  readonly folder: string;
  /** Path of a temporary index. */
  readonly index: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The old value of a ref that must not exist yet. */
const NO_REF = "";

/** Takes the snapshot; returns its ref. Refuses where a commit cannot hold all files. */
export async function takeSnapshot(context: SnapshotContext): Promise<Result<string>> {
  const { files, index } = context;
  const clear = async () => {
    await files.remove(index);
    await files.remove(`${index}.lock`);
  };
  await files.ensureDir(index.slice(0, index.lastIndexOf("/")), { mode: 0o700 });
  await clear();
  try {
    return await snapshotWith(context);
  } finally {
    await clear();
  }
}

async function snapshotWith(context: SnapshotContext): Promise<Result<string>> {
  const { git, folder, index, conversation, now } = context;
  const failed = (fault: GitFault) => err(notTaken(context, fault));
  const head = await git(folder, ["rev-parse", "--verify", "HEAD^{commit}"]);
  if (!head.ok) return failed(head.error);
  const parent = head.value.trim();
  const read = await git(folder, ["read-tree", parent], { index });
  if (!read.ok) return failed(read.error);
  const added = await git(folder, ["add", "--all", "."], { index });
  if (!added.ok) return failed(added.error);
  const nested = await nestedRepositories(context);
  if (!nested.ok) return failed(nested.error);
  if (nested.value.length > 0) return err(holdsRepositories(context, nested.value));
  const tree = await git(folder, ["write-tree"], { index });
  if (!tree.ok) return failed(tree.error);
  const message = `Snapshot of conversation ${conversation}`;
  const args = ["commit-tree", tree.value.trim(), "-p", parent, "-m", message];
  const commit = await git(folder, args);
  if (!commit.ok) return failed(commit.error);
  const time = new Date(now).toISOString().replace(/[-:.]/g, "");
  const ref = `refs/fleetctl/snapshots/${conversation}/${time}`;
  const written = await git(folder, ["update-ref", ref, commit.value.trim(), NO_REF]);
  return written.ok ? ok(ref) : failed(written.error);
}

/**
 * Returns the folders that are repositories of their own, such as submodules. A commit has only
 * the number of their commit, not their files.
 */
async function nestedRepositories(
  { git, files, folder, index }: SnapshotContext,
): Promise<Result<readonly string[], GitFault>> {
  const listed = await git(folder, ["ls-files", "--stage", "-z"], { index });
  if (!listed.ok) return listed;
  const links = listed.value.split("\0").filter((line) => line.startsWith("160000 "))
    .map((line) => line.slice(line.indexOf("\t") + 1));
  const found: string[] = [];
  for (const path of links) {
    if (await files.stat(`${folder}/${path}/.git`) !== undefined) found.push(path);
  }
  return ok(found);
}

function holdsRepositories({ folder }: SnapshotContext, paths: readonly string[]): Refusal {
  const [first = ""] = paths;
  return refusal(
    "worktree-has-repository",
    `Cannot remove worktree ${JSON.stringify(folder)}: ${JSON.stringify(first)} is a repository ` +
      "inside it, whose files no snapshot can keep; it must be moved away or removed",
    {
      details: paths.map((path) => `${folder}/${path}`),
      hints: [`git -C '${folder}/${first}' status`],
    },
  );
}

function notTaken({ folder }: SnapshotContext, fault: GitFault): Refusal {
  return refusal(
    "snapshot-failed",
    `Cannot remove worktree ${JSON.stringify(folder)}: its snapshot failed, ${fault.words}; ` +
      "nothing was removed",
    { hints: [isDiskFull(fault) ? "df -h" : `git -C '${folder}' status`] },
  );
}
