/**
 * The option `--workspace` of `agents add` and `agents set`. Pure.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { DEFAULT_WORKSPACE, workspaceRule } from "core/workspace.ts";
import { workspaceOf } from "units/reconcile/facts.ts";

/** Parses the path of a workspace. */
export function parseWorkspace(text: string): Result<string> {
  const rule = workspaceRule(text);
  return rule === undefined ? ok(text) : err(refusal(
    "workspace-invalid",
    `is ${JSON.stringify(text)}, ${rule}`,
    { kind: "usage" },
  ));
}

/** Refuses a workspace where none may lie on this host; the default is always good. */
export function checkWorkspace(
  name: AgentName,
  workspace: string | undefined,
  paths: Paths,
): Result<string> {
  const agent = workspace === undefined ? { name } : { name, workspace };
  return workspaceOf(agent, { paths, workspace: DEFAULT_WORKSPACE });
}
