/**
 * Creates the worktree of a conversation, and prepares it with the set-up script. Each step can be
 * repeated after a crash.
 *
 * @module
 */

import { FileFault, type Files } from "core/ports/files.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { Log } from "core/ports/log.ts";
import type { Processes } from "core/ports/processes.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Git, type GitFault, isDiskFull } from "units/dial/worktrees/git.ts";
import {
  plannedWorktree,
  type WorktreeRecord,
  type WorktreeRecords,
  worktreesFolder,
} from "units/dial/worktrees/record.ts";
import { readRepository, unreadable } from "units/dial/worktrees/repository.ts";

/** What creating and removing need. */
export interface WorktreeDeps {
  readonly agent: string;
  readonly workspace: string;
  readonly git: Git;
  readonly records: WorktreeRecords;
  readonly files: Files;
  readonly processes: Pick<Processes, "run" | "spawn">;
  readonly env: Readonly<Record<string, string>>;
  readonly log: Log;
}

/** Hides the worktrees from git, and from searches, in the workspace itself. */
const HIDE = 'mkdir -p -- "$0" && { [ -e "$0/.gitignore" ] || echo "*" > "$0/.gitignore"; }';
const HIDE_MS = 10_000;

/** Creates the worktree. Refuses without leaving a record, unless a retry must clean up first. */
export async function createWorktree(
  deps: WorktreeDeps,
  conversation: string,
  signal: AbortSignal,
): Promise<Result<WorktreeRecord>> {
  const { git, records, workspace } = deps;
  const head = await readRepository(git, deps, signal);
  if (!head.ok) return head;
  const planned = plannedWorktree(workspace, conversation);
  const put = (state: "creating" | "created") =>
    putRecord(deps, conversation, { ...planned, state });
  const isRetry = records.get(conversation)?.state === "creating";
  const listed = await git(workspace, ["worktree", "list", "--porcelain", "-z"], { signal });
  if (!listed.ok) return err(notCreated(deps, planned, listed.error));
  const isKnown = listed.value.split("\0").includes(`worktree ${planned.folder}`);
  const isThere = await deps.files.stat(`${planned.folder}/.git`) !== undefined;
  // A person restored a snapshot there.
  if (isKnown && isThere && !isRetry) return await put("created");
  const noted = await put("creating");
  if (!noted.ok) return noted;
  if (isRetry || isKnown) await dropWorktree(deps, planned.folder);
  const added = await addWorktree(deps, { ...planned, head: head.value, signal });
  if (added.ok) return await put("created");
  // After a stop, git may have left a part: the record makes the next try remove it.
  if (added.error.kind === "failed") await forgetRecord(deps, conversation);
  return err(notCreated(deps, planned, added.error));
}

/** Removes a record. One that stays only makes the next try clean up once more. */
async function forgetRecord({ records, log }: WorktreeDeps, conversation: string): Promise<void> {
  try {
    await records.remove(conversation);
  } catch (thrown) {
    log.warning("record of a worktree not removed", { conversation, error: errorText(thrown) });
  }
}

/** Stores a record; refuses when the disk does not take it. */
export async function putRecord(
  { records }: Pick<WorktreeDeps, "records">,
  conversation: string,
  record: WorktreeRecord,
): Promise<Result<WorktreeRecord>> {
  try {
    await records.put(conversation, record);
    return ok(record);
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    return err(refusal(
      "worktree-not-recorded",
      `Cannot prepare the worktree of conversation "${conversation}": ${thrown.message}`,
      { hints: ["df -h"] },
    ));
  }
}

/** Removes a worktree in which no turn ran, whatever state git left it in. */
export async function dropWorktree(
  { git, workspace, log }: Pick<WorktreeDeps, "git" | "workspace" | "log">,
  folder: string,
): Promise<void> {
  await git(workspace, ["worktree", "repair", folder]);
  // Twice: git locks a worktree while it creates it.
  const removed = await git(workspace, ["worktree", "remove", "--force", "--force", folder]);
  if (!removed.ok) log.info("no worktree to remove", { folder, reason: removed.error.words });
}

async function addWorktree(
  { git, workspace, processes, env }: WorktreeDeps,
  of: Pick<WorktreeRecord, "folder" | "branch"> & {
    readonly head: string;
    readonly signal: AbortSignal;
  },
): Promise<Result<unknown, GitFault>> {
  const { folder, branch, head, signal } = of;
  const hidden = await runHide(processes, env, worktreesFolder(workspace));
  if (!hidden.ok) return hidden;
  const known = await git(workspace, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}`], {
    signal,
  });
  // An older worktree of this conversation was removed; its branch was kept.
  const args = known.ok ? [folder, branch] : ["-b", branch, "--no-track", folder, head];
  return await git(workspace, ["worktree", "add", "--quiet", ...args], { signal });
}

async function runHide(
  processes: Pick<Processes, "run">,
  { PATH = "" }: Readonly<Record<string, string>>,
  folder: string,
): Promise<Result<void, GitFault>> {
  const fault = (words: string) => err({ kind: "failed" as const, status: undefined, words });
  try {
    const ended = await processes.run({
      command: "sh",
      args: ["-c", HIDE, folder],
      env: { PATH, LC_ALL: "C" },
      timeoutMs: HIDE_MS,
    });
    return ended.code === 0 ? ok(undefined) : fault(ended.stderr.trim().slice(0, 500));
  } catch (thrown) {
    return fault(errorText(thrown));
  }
}

function notCreated(
  context: WorktreeDeps,
  { folder }: Pick<WorktreeRecord, "folder">,
  fault: GitFault,
): Refusal {
  if (fault.kind === "no-git" || fault.kind === "no-folder") return unreadable(fault, context);
  if (fault.kind === "stopped") return stopped();
  return refusal(
    "worktree-not-created",
    `Cannot create worktree ${JSON.stringify(folder)}: ${fault.words}`,
    { hints: [isDiskFull(fault) ? "df -h" : `git -C '${context.workspace}' worktree list`] },
  );
}

/** Returns the refusal for a worktree whose caller no longer waits. */
export function stopped(): Refusal {
  return refusal("worktree-stopped", "Cannot prepare the worktree: the turn was cancelled");
}
