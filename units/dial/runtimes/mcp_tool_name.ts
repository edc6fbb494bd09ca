/**
 * Resolves a tool's name to its MCP and the tool there. Programs join both names:
 * `mcp__<server>__<tool>`, or `<server>_<tool>`. Pure.
 *
 * @module
 */

/** A tool of an MCP. */
export interface McpTool {
  readonly mcp: string;
  readonly tool: string;
  /**
   * Whether the name can be split in only one way: `mcp__git__x__y` may be a tool of `git` or of
   * `git__x`.
   */
  readonly isClear: boolean;
}

const PREFIXED = /^mcp__(.+?)__(.+)$/s;

/**
 * Splits the name of a tool; undefined for a tool of the program itself. `<server>_<tool>` is
 * recognized only for `servers`, the names that the program received. If several match, the longest
 * wins.
 */
export function mcpToolOf(name: string, servers: readonly string[] = []): McpTool | undefined {
  const [, mcp, tool] = PREFIXED.exec(name) ?? [];
  if (mcp !== undefined && tool !== undefined) {
    return { mcp, tool, isClear: !tool.startsWith("_") && !tool.includes("__") };
  }
  const server = servers
    .filter((each) => name.startsWith(`${each}_`) && name.length > each.length + 1)
    .reduce((longest, each) => each.length > longest.length ? each : longest, "");
  if (server === "") return undefined;
  return { mcp: server, tool: name.slice(server.length + 1), isClear: true };
}
