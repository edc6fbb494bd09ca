/**
 * Arithmetic of the `tools` deltas: what an agent has is the default set, plus its adds, less its
 * removes (spec "Ledger and host markers"). Pure. Only what differs from the default set is
 * recorded, so that an agent follows a default that changes later, and adding what was removed
 * leaves no trace.
 *
 * @module
 */

import type { ToolDeltas } from "core/ledger/agent.ts";
import type { McpName } from "core/names.ts";

/** No deltas: the default set as it is. */
export const NO_DELTAS: ToolDeltas = { add: [], remove: [] };

/** Returns the MCPs of an agent: defaults in their order, then adds in theirs, each once. */
export function resolveDeltas(
  defaults: readonly McpName[],
  deltas: ToolDeltas,
): readonly McpName[] {
  return [...new Set([...defaults, ...deltas.add])].filter((name) => !deltas.remove.includes(name));
}

/** Returns the deltas after `mcp add`: the MCP is in the set that they resolve to. */
export function addDelta(
  deltas: ToolDeltas,
  defaults: readonly McpName[],
  mcp: McpName,
): ToolDeltas {
  const isThere = defaults.includes(mcp) || deltas.add.includes(mcp);
  return {
    add: isThere ? deltas.add : [...deltas.add, mcp],
    remove: without(deltas.remove, mcp),
  };
}

/** Returns the deltas after `mcp remove`: the MCP is not in the set that they resolve to. */
export function removeDelta(
  deltas: ToolDeltas,
  defaults: readonly McpName[],
  mcp: McpName,
): ToolDeltas {
  const needsRemove = defaults.includes(mcp) && !deltas.remove.includes(mcp);
  return {
    add: without(deltas.add, mcp),
    remove: needsRemove ? [...deltas.remove, mcp] : deltas.remove,
  };
}

function without(names: readonly McpName[], name: McpName): readonly McpName[] {
  return names.includes(name) ? names.filter((each) => each !== name) : names;
}
