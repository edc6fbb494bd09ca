/**
 * Where the workspace of `agents add` and `agents set` may lie on this host. Pure.
 *
 * @module
 */

import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Result } from "core/result.ts";
import { DEFAULT_WORKSPACE } from "core/workspace.ts";
import { workspaceOf } from "units/reconcile/facts.ts";

/** Refuses a workspace where none may lie on this host; the default is always good. */
export function checkWorkspace(
  name: AgentName,
  workspace: string | undefined,
  paths: Paths,
): Result<string> {
  const agent = workspace === undefined ? { name } : { name, workspace };
  return workspaceOf(agent, { paths, workspace: DEFAULT_WORKSPACE });
}
