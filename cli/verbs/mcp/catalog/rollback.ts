/**
 * `fleetctl mcp catalog rollback`: restores an entry to the version before its last change. Its
 * tree is kept, so no registry is queried. The version left is kept too, and a second rollback
 * returns to it, unless the first one returned to the entry that ships.
 *
 * @module
 */

import { applyEntry } from "cli/mcp/catalog/apply_entry.ts";
import { isShipped, readPrevious, readStored, writeEntry } from "cli/mcp/catalog/store.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { underVerbLock } from "cli/planner.ts";
import { refusal } from "core/errors.ts";
import { type McpName, parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl mcp catalog rollback`. */
export interface Options {
  readonly mcp: McpName;
}

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const mcp = parseMcpName(invocation.args.mcp ?? "");
  return mcp.ok ? ok({ mcp: mcp.value }) : mcp;
}

/** Restores the previous version. */
export async function run(context: VerbContext, { mcp }: Options): Promise<Result<VerbReport>> {
  return await underVerbLock(context, async () => {
    const stored = await readStored(context, mcp);
    if (!stored.ok) return stored;
    const { layer } = stored.value;
    const previous = layer === "shipped" ? undefined : await readPrevious(context, mcp, layer);
    if (layer === "shipped" || (previous === undefined && !isShipped(mcp))) {
      return err(refusal(
        "rollback-impossible",
        `Cannot roll back MCP "${mcp}": ${
          layer === "shipped" ? "it is as it ships" : "no earlier version was kept"
        }`,
        { hints: ["fleetctl mcp catalog list"] },
      ));
    }
    const written = await writeEntry(context, {
      mcp,
      layer,
      verb: "mcp catalog rollback",
      summary: `"${mcp}" to ${previous === undefined ? "what ships" : pinOf(previous.manifest)}`,
      next: previous,
      previous: previous === undefined ? undefined : stored.value,
    });
    if (!written.ok) return written;
    const settled = await applyEntry(context, mcp);
    if (!settled.ok) return settled;
    const to = previous === undefined ? "the entry that ships" : pinOf(previous.manifest);
    return ok({
      json: { mcp, to, agents: settled.value.agents },
      blocks: [{ kind: "lines", lines: [`rolled back  ${mcp} to ${to}`, ...settled.value.lines] }],
      faults: settled.value.faults,
    });
  });
}

function pinOf(manifest: string): string {
  return /^\s+(?:npm|uvx|http): "?([^"\n]+)"?$/m.exec(manifest)?.[1] ?? "its entry before";
}
