/**
 * `fleetctl defaults list tools`: the MCPs that agents of this host have by default, and what sets
 * them. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { readCatalog } from "core/catalog/catalog.ts";
import { readDefaults } from "core/catalog/defaults.ts";
import { ok, type Result } from "core/result.ts";

/** The verb has no options. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: there are none. */
export function parseOptions(): Result<Options> {
  return ok({});
}

/** Reads the sets of the channels and the host's file. */
export async function run({ ports, paths }: VerbContext): Promise<Result<VerbReport>> {
  const catalog = await readCatalog(ports, paths);
  if (!catalog.ok) return catalog;
  const { channels, hostTools, faults } = await readDefaults(ports, paths, catalog.value);
  return ok({
    json: { channels, host: hostTools },
    blocks: [{
      kind: "table",
      columns: ["agents", "mcps"],
      rows: [
        ...Object.entries(channels).map(([channel, tools]) =>
          [`channel ${channel}`, tools.join(", ")] as const
        ),
        ["every agent of this host", hostTools.join(", ") || "no others"],
      ],
      empty: "",
    }],
    faults,
  });
}
