/**
 * The annotations of the tools in the server's last list. They tell an approver whether a tool
 * claims to destroy nothing. The claim comes from the server, so no other decision uses it. Pure.
 *
 * @module
 */

import { isRecord } from "core/text/json_object.ts";

/** The tools of the last list. */
export interface ShownTools {
  onListed(value: Readonly<Record<string, unknown>>): void;
  /** True unless the tool claims to be read-only or non-destructive. */
  isDestructive(tool: string): boolean;
}

/** Maximum number of tools in memory. */
const TOOLS_MAX = 2_000;

/** Creates an empty memory. */
export function createShownTools(): ShownTools {
  const harmless = new Set<string>();
  return {
    onListed({ result }) {
      const tools = isRecord(result) && Array.isArray(result["tools"]) ? result["tools"] : [];
      for (const tool of tools.slice(0, TOOLS_MAX) as readonly unknown[]) {
        if (!isRecord(tool) || typeof tool["name"] !== "string") continue;
        const hints = tool["annotations"];
        const isHarmless = isRecord(hints) &&
          (hints["readOnlyHint"] === true || hints["destructiveHint"] === false);
        if (isHarmless) harmless.add(tool["name"]);
        else harmless.delete(tool["name"]);
      }
    },
    isDestructive: (tool) => !harmless.has(tool),
  };
}
