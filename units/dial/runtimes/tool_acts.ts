/**
 * What the built-in tools of each program do, by the names that the program gives them. A tool that
 * is not listed is `other`. `core/risk/builtin_tools.ts` decides by these classes. Pure.
 *
 * @module
 */

import type { ToolAct, ToolClass } from "core/risk/builtin_tools.ts";
import { argumentPaths } from "core/risk/tool_place.ts";
import { blocksOf, fieldsOf, textOf } from "units/dial/runtimes/message.ts";

type Classes = ReadonlyMap<string, ToolClass>;

/** Tools of Claude Code, under their present and earlier names. */
export const CLAUDE_TOOLS: Classes = new Map<string, ToolClass>([
  ["Read", "read"],
  ["Glob", "read"],
  ["Grep", "read"],
  ["LS", "read"],
  ["NotebookRead", "read"],
  ["Edit", "edit"],
  ["MultiEdit", "edit"],
  ["Write", "edit"],
  ["NotebookEdit", "edit"],
  ["Bash", "command"],
  ["WebFetch", "web"],
  ["WebSearch", "web"],
  // They start helper agents, later turns, or work in another folder.
  ["Task", "other"],
  ["Agent", "other"],
  ["Workflow", "other"],
  ["CronCreate", "other"],
  ["EnterWorktree", "other"],
]);

/** Tools of pi. */
const PI_TOOLS: Classes = new Map<string, ToolClass>([
  ["read", "read"],
  ["grep", "read"],
  ["find", "read"],
  ["ls", "read"],
  ["edit", "edit"],
  ["write", "edit"],
  ["bash", "command"],
]);

/** Kinds of tool calls in ACP. Programs say `think` when they start a helper agent. */
const ACP_KINDS: Classes = new Map<string, ToolClass>([
  ["read", "read"],
  ["search", "read"],
  ["edit", "edit"],
  ["delete", "edit"],
  ["move", "edit"],
  ["execute", "command"],
  ["fetch", "web"],
  ["think", "other"],
]);

/** Returns what a tool of pi would do. Relative paths begin in its working folder. */
export function piAct(tool: string, given: unknown): ToolAct {
  return actOf(PI_TOOLS, tool, given);
}

function actOf(classes: Classes, tool: string, given: unknown): ToolAct {
  return { toolClass: classes.get(tool) ?? "other", paths: argumentPaths(given) };
}

/**
 * Returns what a tool of Claude Code would do. Its working folder moves with its commands, so a
 * relative path tells nothing. It asks with absolute ones.
 */
export function claudeAct(tool: string, given: unknown): ToolAct {
  return withAbsolutePaths(actOf(CLAUDE_TOOLS, tool, given));
}

/** Returns what a change of files by codex would do. */
export function patchAct(changes: unknown): ToolAct {
  const paths = blocksOf(changes).flatMap(({ path, kind }) => {
    const { move_path: target } = fieldsOf(kind);
    return [textOf(path), ...(target === undefined || target === null ? [] : [textOf(target)])];
  });
  return withAbsolutePaths({ toolClass: "edit", paths });
}

/** What an ACP program has reported about a call. */
export interface AcpCall {
  readonly kind: string | undefined;
  readonly locations: unknown;
  readonly content: unknown;
  readonly arguments: unknown;
}

/** Returns what a tool call of an ACP program would do. Its paths are absolute. */
export function acpAct(call: AcpCall): ToolAct {
  const { kind = "", locations, content } = call;
  const diffs = blocksOf(content).filter(({ type }) => type === "diff");
  const named = [...blocksOf(locations), ...diffs].map(({ path }) => textOf(path));
  const paths = [...new Set([...named, ...argumentPaths(call.arguments)])];
  const toolClass = ACP_KINDS.get(kind) ?? "other";
  // A move has a source and a target; with one path the other is unknown.
  const isWhole = kind !== "move" || paths.length > 1;
  return withAbsolutePaths({ toolClass, paths: isWhole ? paths : [] });
}

function withAbsolutePaths({ toolClass, paths }: ToolAct): ToolAct {
  return { toolClass, paths: paths.map((path) => /^[/~]/.test(path) ? path : "") };
}
