/**
 * `fleetctl ceilings host sum`: sums up what the agents of this host have spent, and publishes it
 * for the dial units. The daemon runs it twice a minute.
 *
 * @module
 */

import { hostReport } from "cli/ceilings/host_report.ts";
import { sumHost } from "cli/ceilings/host_sum.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { ok, type Result } from "core/result.ts";

/** Options of `fleetctl ceilings host sum`. */
export type Options = Readonly<Record<string, never>>;

/** There are no options. */
export function parseOptions(): Result<Options> {
  return ok({});
}

/** Sums up. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const sums = await sumHost(context);
  return sums.ok ? ok(hostReport(sums.value)) : sums;
}
