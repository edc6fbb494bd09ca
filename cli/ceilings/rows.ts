/**
 * Spend ceilings as the command line shows them. Pure.
 *
 * @module
 */

import type { Cell, Tone } from "cli/output.ts";
import type { CeilingView } from "core/dial/local_frames.ts";
import { amountText } from "core/usage/ceiling.ts";
import type { Level } from "core/usage/spend.ts";

/** A ceiling and its agent. */
export type AgentCeiling = CeilingView & { readonly agent: string };

/** Columns of the table. */
export const CEILING_COLUMNS = [
  "agent",
  "period",
  "spent",
  "limit",
  "owner may add",
  "state",
  "until (UTC)",
];

/** Shown instead of an agent's name in the row of a ceiling of the host. */
export const HOST_ROW = "(all agents)";

const TONES: Readonly<Record<Level, Tone>> = {
  below: "good",
  near: "warn",
  reached: "bad",
  unpriced: "bad",
};

/** Returns the row of a ceiling. */
export function ceilingRow(of: AgentCeiling): readonly Cell[] {
  const { agent, period, unit, level, spent, limit } = of;
  const amount = (count: number) => amountText({ unit, count });
  const words = level === "unpriced" ? `no price for ${of.unpriced.join(", ")}` : level;
  return [
    { text: agent, tone: "head" },
    period,
    of.is_minimum ? `${amount(spent)} or more` : amount(spent),
    amount(limit),
    of.owner_left === 0 ? "-" : amount(of.owner_left),
    { text: words, tone: TONES[level] },
    new Date(of.until).toISOString().slice(0, 16).replace("T", " "),
  ];
}
