/**
 * `fleetctl ceilings host allow <period>=<amount>`: allows all agents of this host together to
 * spend more until the current period ends.
 *
 * @module
 */

import { type AllowedAmount, parseAllowedAmount } from "cli/ceilings/allowed_amount.ts";
import { hostReport, notOperator } from "cli/ceilings/host_report.ts";
import { readHostCeilings, sumHost } from "cli/ceilings/host_sum.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl ceilings host allow`. */
export type Options = AllowedAmount;

/** Parses the amount. */
export function parseOptions({ args }: Invocation): Result<Options> {
  return parseAllowedAmount(args.more ?? "", "ceilings host allow");
}

/** Stores the allowance, then sums up. */
export async function run(
  context: VerbContext,
  { period, amount: { unit, count } }: Options,
): Promise<Result<VerbReport>> {
  const denied = notOperator(context.caller);
  if (denied !== undefined) return err(denied);
  const ceilings = await readHostCeilings(context);
  if (!ceilings.ok) return ceilings;
  if (!ceilings.value.some((each) => each.period === period && each.unit === unit)) {
    return err(refusal(
      "ceiling-unknown",
      `Cannot allow more: this host has no ceiling of the ${period} in ${unit}`,
      { hints: ["fleetctl ceilings list"] },
    ));
  }
  const sums = await sumHost(context, { allow: { ceiling: { period, unit }, count } });
  return sums.ok ? ok(hostReport(sums.value)) : sums;
}
