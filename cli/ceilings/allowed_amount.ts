/**
 * The argument of `ceilings allow` and `ceilings host allow`: an amount for one period. Pure.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Amount, parseCeilings, type Period } from "core/usage/ceiling.ts";

/** How much more is allowed, and in which period. */
export interface AllowedAmount {
  readonly period: Period;
  readonly amount: Amount;
}

/** Parses an amount such as `day=2usd`, which has the form of one ceiling. */
export function parseAllowedAmount(more: string, verb: string): Result<AllowedAmount> {
  const parsed = parseCeilings(more);
  const [first, second] = parsed.ok ? parsed.value : [];
  if (first === undefined || second !== undefined || first.ownerMore > 0) {
    return err(refusal(
      "options-invalid",
      `Cannot allow more: the amount is ${JSON.stringify(more)}, must be such as day=2usd`,
      { kind: "usage", hints: [`fleetctl ${verb} --help`] },
    ));
  }
  const { period, unit, limit } = first;
  return ok({ period, amount: { unit, count: limit } });
}
