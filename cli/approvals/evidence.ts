/**
 * What a decision about a call is about, as lines for people: its tool and its arguments. Pure.
 *
 * @module
 */

import type { ApprovalView } from "core/dial/local_frames.ts";

/** Names the tool; the MCP of a program's own tool is empty. */
export function approvedTool(
  { mcp, version, tool }: Pick<ApprovalView, "mcp" | "version" | "tool">,
): string {
  return mcp === "" ? `${tool} of the runtime` : `${tool} of MCP ${mcp}@${version}`;
}

/** Returns all arguments. */
export function argumentLines(given: ApprovalView["arguments"]): readonly string[] {
  return ["arguments", ...JSON.stringify(given, null, 2).split("\n").map((line) => `  ${line}`)];
}
