/**
 * The catalog entries that ship with the product, as text inside the program, so that the tree and
 * the bundled shape read the same bytes. No I/O. The folders below `shipped/` have the form of an
 * overlay's: `mcp.yaml`, and `deno.lock` for an npm source.
 *
 * @module
 */

import agentMessage from "core/catalog/shipped/agent-message/mcp.yaml" with { type: "text" };
import browserLock from "core/catalog/shipped/browser/deno.lock" with { type: "text" };
import browser from "core/catalog/shipped/browser/mcp.yaml" with { type: "text" };
import gitLock from "core/catalog/shipped/git/deno.lock" with { type: "text" };
import git from "core/catalog/shipped/git/mcp.yaml" with { type: "text" };
import messenger from "core/catalog/shipped/messenger/mcp.yaml" with { type: "text" };
import teamchat from "core/catalog/shipped/teamchat/mcp.yaml" with { type: "text" };
import workchat from "core/catalog/shipped/workchat/mcp.yaml" with { type: "text" };

/** Text of one shipped entry. */
export interface ShippedEntry {
  readonly name: string;
  readonly manifest: string;
  readonly lock?: string;
}

/** Every shipped entry, sorted by name. */
export const SHIPPED_ENTRIES: readonly ShippedEntry[] = [
  { name: "agent-message", manifest: agentMessage },
  { name: "browser", manifest: browser, lock: browserLock },
  { name: "git", manifest: git, lock: gitLock },
  { name: "messenger", manifest: messenger },
  { name: "teamchat", manifest: teamchat },
  { name: "workchat", manifest: workchat },
];
