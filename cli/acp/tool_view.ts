/**
 * How an editor shows a tool call: kind, title and content. Editors render content as Markdown, so
 * a tool's words are in code blocks. Pure.
 *
 * @module
 */

import type { ToolCallContent, ToolKind } from "@agentclientprotocol/sdk";
import { clean, cleanLine } from "core/text/clean.ts";
import { type ToolSort, toolSort, toolTarget } from "core/text/tool_call.ts";

/** A call as the agent reports it; `mcp` is null for a tool of its program. */
export interface ShownCall {
  readonly mcp: string | null;
  readonly tool: string;
  readonly arguments: unknown;
}

const KINDS: Readonly<Record<ToolSort, ToolKind>> = {
  read: "read",
  write: "edit",
  run: "execute",
  find: "search",
  web: "fetch",
  other: "other",
};
/** Maximum length of a title, in characters. */
const TITLE_LENGTH_MAX = 200;

/** Returns the kind, from which the editor chooses an icon. */
export function toolKind(tool: string): ToolKind {
  if (/^(delete|remove)/i.test(tool)) return "delete";
  return /^(move|rename)/i.test(tool) ? "move" : KINDS[toolSort(tool)];
}

/** Returns the title: tool and target, on one line. */
export function toolTitle(call: ShownCall): string {
  const name = cleanLine(toolName(call));
  const target = toolTarget(call);
  return (target === "" ? name : `${name}: ${target}`).slice(0, TITLE_LENGTH_MAX);
}

/** Returns the name of the tool with its MCP. */
export function toolName({ mcp, tool }: Pick<ShownCall, "mcp" | "tool">): string {
  return mcp === null ? tool : `${mcp}.${tool}`;
}

/** Returns a text as the only content of a call; an empty one as no content. */
export function codeContent(text: string, cutBytes = 0): ToolCallContent[] {
  const parts = [
    ...(text.trim() === "" ? [] : [codeBlock(text)]),
    ...(cutBytes > 0 ? [`(${cutBytes} bytes cut)`] : []),
  ];
  if (parts.length === 0) return [];
  return [{ type: "content", content: { type: "text", text: parts.join("\n\n") } }];
}

/** The fence is longer than every row of backticks in the text, so that no text can end it. */
function codeBlock(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  return `${fence}\n${clean(text).trimEnd()}\n${fence}`;
}
