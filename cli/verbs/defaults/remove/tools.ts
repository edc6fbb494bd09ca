/**
 * `fleetctl defaults remove tools`: removes an MCP from the host's own additions. A host cannot
 * change the set of a channel; an agent removes one of those with `mcp remove`.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { changeDefaults } from "cli/defaults/edit.ts";
import type { VerbReport } from "cli/output.ts";
import { removeDefaultTool } from "core/catalog/defaults.ts";
import { type McpName, parseMcpName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The MCP to remove. */
export interface Options {
  readonly mcp: McpName;
}

/** Parses the name. */
export function parseOptions({ args }: Invocation): Result<Options> {
  const mcp = parseMcpName(args.mcp ?? "");
  return mcp.ok ? ok({ mcp: mcp.value }) : mcp;
}

/** Removes it from the host's file. */
export function run(context: VerbContext, { mcp }: Options): Promise<Result<VerbReport>> {
  return changeDefaults(context, mcp, {
    did: "removed",
    edit: (text) => Promise.resolve(removeDefaultTool(text, mcp, context.paths.defaultsFile)),
  });
}
