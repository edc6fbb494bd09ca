/**
 * `fleetctl ceilings host set <ceilings>`: sets how much all agents of this host together may
 * spend. It takes effect at once.
 *
 * @module
 */

import { checkHostCeilings, printHostCeilingFile } from "cli/ceilings/host_file.ts";
import { hostReport, notOperator } from "cli/ceilings/host_report.ts";
import { sumHost } from "cli/ceilings/host_sum.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { underVerbLock } from "cli/planner.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Ceiling } from "core/usage/ceiling.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl ceilings host set`. */
export interface Options {
  readonly ceilings: readonly Ceiling[];
}

/** Parses the ceilings; an empty text removes them. */
export function parseOptions({ args }: Invocation): Result<Options> {
  const ceilings = checkHostCeilings(args.ceilings ?? "");
  return ceilings.ok ? ok({ ceilings: ceilings.value }) : ceilings;
}

/** Writes the file, then sums up. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports: { files }, paths, caller } = context;
  const denied = notOperator(caller);
  if (denied !== undefined) return err(denied);
  return await underVerbLock(context, async () => {
    if (options.ceilings.length === 0) await files.remove(paths.ceilingsFile);
    else {
      await files.ensureDir(paths.etc);
      await files.write(paths.ceilingsFile, printHostCeilingFile(options.ceilings), {
        mode: 0o644,
      });
    }
    const sums = await sumHost(context);
    return sums.ok ? ok(hostReport(sums.value)) : sums;
  });
}
