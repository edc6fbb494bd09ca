/**
 * What the agents of a host have spent in the current periods, from a file that only root writes.
 * It is stored per agent, so that the spending of stopped and removed agents still counts. Pure.
 *
 * @module
 */

import * as z from "zod";
import type { AgentUsage } from "cli/usage/read.ts";
import { USAGE_LIMITS } from "core/limits/usage.ts";
import { parseJsonObject } from "core/text/json_object.ts";
import { PERIODS, stretchOf } from "core/usage/ceiling.ts";
import type { ModelSpend, Spending } from "core/usage/spend.ts";

const count = z.number().nonnegative();
const spent = z.object({
  agent: z.string().max(64),
  period: z.enum(PERIODS),
  since: z.number(),
  /** Some turns had no figures, or not all of them. */
  is_partial: z.boolean(),
  models: z.array(z.object({
    model: z.string().max(USAGE_LIMITS.modelLengthMax),
    day: z.string().max(10),
    tokens: z.object({ input: count, output: count, cachedRead: count, cachedWrite: count }),
    largestInput: count,
  })),
});
const allowance = z.object({
  key: z.string().max(64),
  since: z.number(),
  more: count,
  byOwner: count,
});
const remembered = z.object({ spent: z.array(spent), allowances: z.array(allowance) });

/** What one agent has spent in one period. */
export type AgentSpending = z.infer<typeof spent>;
/** The remembered spending, and what operators allowed beyond the ceilings. */
export type HostSpending = z.infer<typeof remembered>;

/** Nothing is known. */
export const NO_SPENDING: HostSpending = { spent: [], allowances: [] };

/** Parses the file; undefined for a damaged one. */
export function parseHostSpending(text: string | undefined): HostSpending | undefined {
  if (text === undefined) return NO_SPENDING;
  const parsed = remembered.safeParse(parseJsonObject(text));
  return parsed.success ? parsed.data : undefined;
}

/** Converts the answer of a dial unit. */
export function agentSpending(
  { agent, days, models }: AgentUsage,
  { period, since }: Pick<AgentSpending, "period" | "since">,
): AgentSpending {
  return {
    agent,
    period,
    since,
    is_partial: days.some((day) => day.unknown_turns + day.partial_turns > 0),
    models: models.map((of): ModelSpend => ({
      model: of.model,
      day: of.day,
      tokens: {
        input: of.input_tokens,
        output: of.output_tokens,
        cachedRead: of.cached_read_tokens,
        cachedWrite: of.cached_write_tokens,
      },
      largestInput: of.largest_input_tokens,
    })),
  };
}

/** Replaces what is remembered of the agents that answered, and forgets ended periods. */
export function remember(
  old: HostSpending,
  found: readonly AgentSpending[],
  now: number,
): HostSpending {
  const isCurrent = ({ period, since }: AgentSpending) => stretchOf(period, now).since === since;
  const isReplaced = (of: AgentSpending) =>
    found.some(({ agent, period }) => agent === of.agent && period === of.period);
  return {
    spent: [...old.spent.filter((of) => isCurrent(of) && !isReplaced(of)), ...found],
    allowances: old.allowances.filter(({ key, since }) =>
      PERIODS.some((period) =>
        key.startsWith(`${period}-`) && stretchOf(period, now).since === since
      )
    ),
  };
}

/** Returns the spending of all agents in a period. */
export function spendingIn(
  { spent: all }: HostSpending,
  since: number,
  period: AgentSpending["period"],
  isPartial: boolean,
): Spending {
  const own = all.filter((of) => of.period === period && of.since === since);
  return {
    models: own.flatMap(({ models }) => models),
    isPartial: isPartial || own.some(({ is_partial }) => is_partial),
  };
}
