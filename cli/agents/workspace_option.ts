/**
 * Checks the workspace path of `agents add` and `agents set` against this host. Pure.
 *
 * @module
 */

import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Result } from "core/result.ts";
import { DEFAULT_WORKSPACE } from "core/workspace.ts";
import { workspaceOf } from "units/reconcile/facts.ts";

/** Refuses a workspace path that this host does not allow. The default is always allowed. */
export function checkWorkspace(
  name: AgentName,
  workspace: string | undefined,
  paths: Paths,
): Result<string> {
  const agent = workspace === undefined ? { name } : { name, workspace };
  return workspaceOf(agent, { paths, workspace: DEFAULT_WORKSPACE });
}
