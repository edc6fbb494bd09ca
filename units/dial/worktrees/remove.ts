/**
 * Removes the worktree of a conversation after a snapshot, and finishes or undoes a removal that a
 * crash interrupted. The branch stays. Until the snapshot exists, nothing is removed.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import { err, ok, type Result } from "core/result.ts";
import { putRecord, type WorktreeDeps } from "units/dial/worktrees/create.ts";
import type { GitFault } from "units/dial/worktrees/git.ts";
import type { WorktreeRecord } from "units/dial/worktrees/record.ts";
import { unreadable } from "units/dial/worktrees/repository.ts";
import { takeSnapshot } from "units/dial/worktrees/snapshot.ts";

/** What removing needs. */
export interface RemovalDeps extends WorktreeDeps {
  readonly clock: Pick<Clock, "now">;
  /** Makes the conversation's program forget it; called when its worktree is gone. */
  readonly forget: (conversation: string) => Promise<void>;
}

/** Removes the worktree; returns the ref of its snapshot, or undefined when it had no files. */
export async function removeWorktree(
  deps: RemovalDeps,
  conversation: string,
  record: WorktreeRecord,
): Promise<Result<string | undefined>> {
  const { git, records, files, clock } = deps;
  const { folder, workspace } = record;
  await git(workspace, ["worktree", "repair"]);
  if (await files.stat(`${folder}/.git`) === undefined) {
    if (await files.stat(folder) !== undefined) return err(unlinked(folder));
    // A person removed the folder.
    await git(workspace, ["worktree", "remove", "--force", folder]);
    await deps.forget(conversation);
    await records.remove(conversation);
    return ok(undefined);
  }
  const entry = await lockOf(deps, folder);
  if (!entry.ok) return err(unreadable(entry.error, deps));
  if (entry.value !== undefined) return err(locked(workspace, folder, entry.value));
  const removing = { ...record, state: "removing" } as const;
  const noted = await putRecord(deps, conversation, removing);
  if (!noted.ok) return noted;
  const snapshot = await takeSnapshot({
    git,
    files,
    conversation,
    folder,
    index: records.indexOf(conversation),
    now: clock.now(),
  });
  if (!snapshot.ok) return await undone(deps, conversation, record, snapshot.error);
  const taken = { ...removing, snapshot: snapshot.value };
  const kept = await putRecord(deps, conversation, taken);
  if (!kept.ok) return await undone(deps, conversation, record, kept.error);
  return await finish(deps, conversation, taken);
}

/** Finishes a removal after a restart, or undoes it when there is no snapshot yet. */
export async function recoverRemoval(
  deps: RemovalDeps,
  conversation: string,
  record: WorktreeRecord,
): Promise<Result<string | undefined>> {
  if (record.snapshot !== undefined) return await finish(deps, conversation, record);
  const { snapshot: _none, ...rest } = record;
  const put = await putRecord(deps, conversation, { ...rest, state: "ready" });
  return put.ok ? ok(undefined) : put;
}

/** Lets git remove the folder. If git fails, restores the files from the snapshot and refuses. */
async function finish(
  deps: RemovalDeps,
  conversation: string,
  record: WorktreeRecord,
): Promise<Result<string | undefined>> {
  const { git, records } = deps;
  const { folder, workspace, snapshot } = record;
  // A crash may have left the folder without its link to the repository.
  await git(workspace, ["worktree", "repair"]);
  const removed = await git(workspace, ["worktree", "remove", "--force", folder]);
  if (!removed.ok && !/is not a working tree/.test(removed.error.words)) {
    return await restored(deps, conversation, record, removed.error);
  }
  await deps.forget(conversation);
  await records.remove(conversation);
  return ok(snapshot);
}

/** Brings back the files that git had already removed; the worktree is ready again. */
async function restored(
  deps: RemovalDeps,
  conversation: string,
  record: WorktreeRecord,
  fault: GitFault,
): Promise<Result<never>> {
  const { git } = deps;
  const { folder, workspace, snapshot } = record;
  await git(workspace, ["worktree", "repair"]);
  const back = snapshot === undefined
    ? ok("")
    : await git(folder, ["restore", `--source=${snapshot}`, "--worktree", "--", "."]);
  const { snapshot: _taken, ...rest } = record;
  const why = notRemoved(deps, record, { fault, back: back.ok ? undefined : back.error.words });
  return await undone(deps, conversation, { ...rest, state: "ready" }, why);
}

async function undone(
  deps: RemovalDeps,
  conversation: string,
  record: WorktreeRecord,
  why: Refusal,
): Promise<Result<never>> {
  const put = await putRecord(deps, conversation, record);
  if (!put.ok) deps.log.warning("removal not undone", { conversation, code: put.error.code });
  return err(why);
}

/** Returns the reason of a lock on the worktree; undefined when it has none. */
async function lockOf(
  { git, workspace }: WorktreeDeps,
  folder: string,
): Promise<Result<string | undefined, GitFault>> {
  const listed = await git(workspace, ["worktree", "list", "--porcelain", "-z"]);
  if (!listed.ok) return listed;
  const entry = listed.value.split("\0\0").map((lines) => lines.split("\0"))
    .find((lines) => lines.includes(`worktree ${folder}`));
  const line = entry?.find((each) => each === "locked" || each.startsWith("locked "));
  return ok(line?.slice("locked ".length));
}

function unlinked(folder: string): Refusal {
  return refusal(
    "worktree-unlinked",
    `Cannot remove worktree ${JSON.stringify(folder)}: no repository knows it any more, its ` +
      "files must be moved away first",
    { hints: [`ls -la '${folder}'`] },
  );
}

function locked(workspace: string, folder: string, reason: string): Refusal {
  const why = reason === "" ? "" : ` (${reason})`;
  return refusal(
    "worktree-locked",
    `Cannot remove worktree ${JSON.stringify(folder)}: it is locked${why}, must be unlocked`,
    { hints: [`git -C '${workspace}' worktree unlock '${folder}'`] },
  );
}

function notRemoved(
  { agent }: WorktreeDeps,
  { folder, snapshot }: WorktreeRecord,
  { fault, back }: { readonly fault: GitFault; readonly back: string | undefined },
): Refusal {
  const kept = snapshot === undefined
    ? "nothing was removed"
    : back === undefined
    ? `its files were restored from ${snapshot}`
    : `its files are in ${snapshot}, and restoring them failed: ${back}`;
  return refusal(
    "worktree-not-removed",
    `Cannot remove worktree ${JSON.stringify(folder)}: ${fault.words}; ${kept}`,
    { hints: [`find '${folder}' ! -user ${agent}`, `findmnt --submounts '${folder}'`] },
  );
}
