/**
 * The tools of one agent under names that every provider accepts: `[a-zA-Z0-9_-]`, at most 64
 * characters, unique. A tool keeps its own name unless another tool has the same. Then each of
 * them, except a built-in one, is prefixed with its server, so that no name depends on the order of
 * servers. Pure.
 *
 * @module
 */

import type { Tool } from "units/agent_loop/tools/tool.ts";

/** Maximum length of a tool name that providers accept. */
const NAME_LENGTH_MAX = 64;

/** Returns the tools with their final names, in the given order. */
export function nameTools(tools: readonly Tool[]): readonly Tool[] {
  const wanted = new Map<string, number>();
  for (const each of tools) {
    const name = cleanName(each.tool);
    wanted.set(name, (wanted.get(name) ?? 0) + 1);
  }
  const taken = new Set<string>();
  const builtIns = new Set(tools.filter((each) => each.mcp === undefined).map((each) => each.tool));
  return tools.map((each) => {
    const own = cleanName(each.tool);
    const isShared = (wanted.get(own) ?? 0) > 1;
    const base = each.mcp !== undefined && (isShared || builtIns.has(own))
      ? cleanName(`${each.mcp}_${each.tool}`)
      : own;
    let name = base;
    for (let copy = 2; taken.has(name); copy++) {
      name = `${base.slice(0, NAME_LENGTH_MAX - 4)}_${copy}`;
    }
    taken.add(name);
    return name === each.name ? each : { ...each, name };
  });
}

/**
 * Replaces characters that providers refuse. A long name keeps its beginning and gets a hash of the
 * whole.
 */
export function cleanName(name: string): string {
  const clean = name.replace(/[^a-zA-Z0-9_-]/g, "_") || "tool";
  if (clean.length <= NAME_LENGTH_MAX && clean === name) return clean;
  // The hash keeps two names apart that differ only in replaced characters.
  const hash = shortHash(name);
  return clean === name || clean.length > NAME_LENGTH_MAX - 9
    ? `${clean.slice(0, NAME_LENGTH_MAX - 9)}_${hash}`
    : `${clean}_${hash}`;
}

/** FNV-1a, 32 bits, as 8 hex digits. It must be stable; it need not be secure. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}
