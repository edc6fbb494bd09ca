/**
 * Decides whether the workspace is a repository that can have worktrees: the root of a git
 * repository with files and a commit. The workspace may itself be a worktree of another folder's
 * repository.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Git, GitFault } from "units/dial/worktrees/git.ts";

/** An agent and its workspace, for messages. */
export interface WorkspaceContext {
  readonly agent: string;
  readonly workspace: string;
}

/** Returns the commit on which a new worktree begins; refuses any other kind of workspace. */
export async function readRepository(
  git: Git,
  context: WorkspaceContext,
  signal?: AbortSignal,
): Promise<Result<string>> {
  const { workspace } = context;
  const args = ["rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--show-prefix"];
  const found = await git(workspace, args, { signal });
  if (!found.ok) return err(unreadable(found.error, context));
  const [isBare, isInside, prefix = ""] = found.value.split("\n");
  if (isBare === "true" || isInside !== "true") return err(withoutFiles(context));
  if (prefix !== "") return err(belowRoot(prefix, context));
  const head = await git(workspace, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], {
    signal,
  });
  if (head.ok) return ok(head.value.trim());
  return err(head.error.status === 1 ? withoutCommit(context) : unreadable(head.error, context));
}

/** Returns the refusal for a git command that could not run in the workspace. */
export function unreadable(fault: GitFault, { agent, workspace }: WorkspaceContext): Refusal {
  const of = `Cannot use worktrees in ${JSON.stringify(workspace)}`;
  switch (fault.kind) {
    case "no-git":
      return refusal("git-missing", `${of}: ${fault.words}, git must be installed`, {
        hints: ["apt-get install git"],
      });
    case "no-folder":
      return refusal("workspace-missing", `${of}: there is no such folder, must be a repository`, {
        hints: ["fleetctl apply"],
      });
    default:
      if (/not a git repository/i.test(fault.words)) {
        return refusal(
          "workspace-not-repository",
          `${of}: it is not a git repository, must be one`,
          { hints: [`fleetctl agents set ${agent} --worktrees no`] },
        );
      }
      return refusal("workspace-unreadable", `${of}: git refuses: ${fault.words}`, {
        hints: [`fleetctl agents set ${agent} --worktrees no`],
      });
  }
}

function withoutFiles({ agent, workspace }: WorkspaceContext): Refusal {
  return refusal(
    "workspace-bare",
    `Cannot use worktrees in ${JSON.stringify(workspace)}: the repository has no files there, ` +
      "must be a clone with files",
    { hints: [`fleetctl agents set ${agent} --worktrees no`] },
  );
}

function belowRoot(prefix: string, { agent, workspace }: WorkspaceContext): Refusal {
  return refusal(
    "workspace-in-repository",
    `Cannot use worktrees in ${JSON.stringify(workspace)}: it is the folder ` +
      `${JSON.stringify(prefix)} of a larger repository, must be the root of one`,
    { hints: [`fleetctl agents set ${agent} --worktrees no`] },
  );
}

function withoutCommit({ workspace }: WorkspaceContext): Refusal {
  return refusal(
    "workspace-without-commit",
    `Cannot use worktrees in ${JSON.stringify(workspace)}: its branch has no commit, ` +
      "must have one",
    { hints: [`git -C '${workspace}' commit --allow-empty --message 'first commit'`] },
  );
}
