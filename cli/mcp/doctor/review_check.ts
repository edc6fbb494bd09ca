/**
 * The review checks of `fleetctl mcp doctor`: what an upgrade holds back, and which tools a running
 * server lists differently than they were accepted. Pure except for hashing.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { EVERY_TOOL } from "core/catalog/manifest_rules.ts";
import { toolHash } from "core/catalog/tool_lock.ts";
import { refusal } from "core/errors.ts";
import type { McpTool } from "core/ports/mcp_client.ts";
import { err, ok, type Result } from "core/result.ts";
import { reviewCommand, reviewState } from "core/risk/accepted.ts";

/** Number of reasons and tools that are listed one by one. */
const SHOWN_MAX = 8;

/** Whether reviews allow any use of the MCP. Refuses one that is held as a whole. */
export function checkReview({ name, heldBack, heldTools = [] }: Manifest): Result<string> {
  if (heldBack === undefined) return ok("nothing waits");
  const since = heldBack.since === undefined ? "" : ` since ${heldBack.since}`;
  const command = `fleetctl mcp catalog review ${name}`;
  if (!heldTools.includes(EVERY_TOOL)) {
    const what = heldTools.length === 0
      ? "permissions that it requested are"
      : `${heldTools.length} of its tools (${heldTools.slice(0, SHOWN_MAX).join(", ")}) are`;
    return ok(`${what} held back${since}: ${command}`);
  }
  const [first = "it was not reviewed", ...more] = heldBack.reasons;
  return err(refusal(
    "mcp-held",
    `MCP "${name}" is held back as a whole${since}, because ${first}: no server of it starts and ` +
      `no tool, resource or prompt of it is available until an operator has reviewed it`,
    { kind: "denied", details: more.slice(0, SHOWN_MAX), hints: [command] },
  ));
}

/** Compares the server's list with the accepted one. Returns part of a sentence if they match. */
export async function checkListed(
  { name, acceptedTools }: Manifest,
  agent: string,
  listed: readonly McpTool[],
): Promise<Result<string>> {
  if (acceptedTools === undefined) return ok("not compared, no lock of them is stored");
  const other: string[] = [];
  for (const tool of listed) {
    const state = reviewState(acceptedTools, tool.name, await toolHash(tool.definition));
    if (state !== "as-accepted") other.push(`${tool.name} (${state})`);
  }
  const names = new Set(listed.map((tool) => tool.name));
  const missing = [...acceptedTools.keys()].filter((tool) => !names.has(tool));
  const shown = (list: readonly string[]) =>
    `${list.slice(0, SHOWN_MAX).join(", ")}${list.length > SHOWN_MAX ? ", …" : ""}`;
  if (other.length > 0) {
    return err(refusal(
      "tool-unreviewed",
      `MCP "${name}" lists ${other.length} tools that differ from the accepted ones, and they ` +
        `are held back: ${shown(other)}`,
      { kind: "denied", hints: [reviewCommand({ mcp: name, agent })] },
    ));
  }
  return ok(
    missing.length === 0
      ? "as accepted"
      : `as accepted, but for ${missing.length} that are not listed: ${shown(missing)}`,
  );
}
