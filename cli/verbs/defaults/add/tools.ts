/**
 * `fleetctl defaults add tools`: gives an MCP to every agent of this host. Accepts any entry of the
 * catalog, not only those of a channel's set.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { changeDefaults } from "cli/defaults/edit.ts";
import type { VerbReport } from "cli/output.ts";
import { readCatalog } from "core/catalog/catalog.ts";
import { addDefaultTool } from "core/catalog/defaults.ts";
import { type McpName, parseMcpName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The MCP to add. */
export interface Options {
  readonly mcp: McpName;
}

/** Parses the name. */
export function parseOptions({ args }: Invocation): Result<Options> {
  const mcp = parseMcpName(args.mcp ?? "");
  return mcp.ok ? ok({ mcp: mcp.value }) : mcp;
}

/** Adds it to the host's file. */
export function run(context: VerbContext, { mcp }: Options): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  return changeDefaults(context, mcp, {
    did: "added",
    edit: async (text) => {
      const catalog = await readCatalog(ports, paths);
      return catalog.ok
        ? addDefaultTool(text, mcp, { catalog: catalog.value, file: paths.defaultsFile })
        : catalog;
    },
  });
}
