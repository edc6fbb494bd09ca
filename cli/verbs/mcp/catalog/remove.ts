/**
 * `fleetctl mcp catalog remove`: removes an entry of this host's catalog, with its trees and its
 * package cache. Refuses shipped entries and entries that an agent has wired.
 *
 * @module
 */

import { agentsWith } from "cli/mcp/catalog/apply_entry.ts";
import { isShipped, readStored, writeEntry } from "cli/mcp/catalog/store.ts";
import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { underVerbLock } from "cli/planner.ts";
import { refusal } from "core/errors.ts";
import type { AgentName, McpName } from "core/names.ts";
import { parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl mcp catalog remove`. */
export interface Options {
  readonly mcp: McpName;
}

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const mcp = parseMcpName(invocation.args.mcp ?? "");
  return mcp.ok ? ok({ mcp: mcp.value }) : mcp;
}

/** Removes the entry. */
export async function run(context: VerbContext, { mcp }: Options): Promise<Result<VerbReport>> {
  return await underVerbLock(context, async () => {
    const stored = await readStored(context, mcp);
    if (!stored.ok) return stored;
    const { layer } = stored.value;
    if (layer === "shipped" || isShipped(mcp)) return err(shipped(mcp, layer !== "shipped"));
    const agents = await agentsWith(context, mcp);
    if (!agents.ok) return agents;
    if (agents.value.length > 0) return err(stillWired(mcp, agents.value));
    const written = await writeEntry(context, {
      mcp,
      layer,
      verb: "mcp catalog remove",
      summary: `"${mcp}"`,
      next: undefined,
      previous: undefined,
    });
    if (!written.ok) return written;
    const { files } = context.ports;
    for (const path of [context.paths.deploy(mcp), `${context.paths.vendorCache}/${mcp}`]) {
      await files.remove(path, { recursive: true });
    }
    return ok(linesReport({ mcp, layer }, [`removed  ${mcp} from the ${layer}`]));
  });
}

function shipped(mcp: McpName, hasOverlay: boolean) {
  return refusal(
    "mcp-shipped",
    `Cannot remove MCP "${mcp}" from the catalog: it ships with the product`,
    {
      hints: [
        hasOverlay ? `fleetctl mcp catalog rollback ${mcp}` : `fleetctl mcp remove ${mcp} --help`,
      ],
    },
  );
}

function stillWired(mcp: McpName, agents: readonly AgentName[]) {
  const names = agents.map((agent) => `"${agent}"`).join(", ");
  return refusal(
    "mcp-still-wired",
    `Cannot remove MCP "${mcp}" from the catalog: it is wired to ${names}`,
    { hints: agents.slice(0, 10).map((agent) => `fleetctl mcp remove ${mcp} ${agent}`) },
  );
}
