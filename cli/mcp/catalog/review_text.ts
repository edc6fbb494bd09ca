/**
 * The text that a reviewer reads before accepting: everything that would be accepted, and its hash.
 *
 * @module
 */

import { heldJson, heldLines } from "cli/mcp/catalog/apply_entry.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { canonicalJson, type ToolLock } from "core/catalog/tool_lock.ts";
import type { AgentName, McpName } from "core/names.ts";

/** Returns the complete definitions, because a reviewer accepts texts, not names. */
export async function reviewText(
  mcp: McpName,
  lock: ToolLock,
  from?: AgentName,
): Promise<VerbReport> {
  const texts = [...lock.held.tools].flatMap(([tool, { definition }]): readonly Cell[] => [
    { text: `${tool} as it would be:`, tone: "head" },
    ...JSON.stringify(definition, null, 2).split("\n"),
    ...(lock.tools.has(tool) ? [`before: ${canonicalJson(lock.tools.get(tool)?.definition)}`] : []),
  ]);
  return {
    json: {
      mcp,
      held: await heldJson(lock),
      definitions: Object.fromEntries(
        [...lock.held.tools].map(([tool, { definition }]) => [tool, definition]),
      ),
    },
    blocks: [{ kind: "lines", lines: [...texts, ...await heldLines(mcp, lock, from)] }],
  };
}
