/**
 * Sums up what the agents of this host have spent, compares it with the host's ceilings, and
 * publishes the result for the dial units. The daemon does so twice a minute, and each verb that
 * changes the ceilings does so once.
 *
 * @module
 */

import { parseHostCeilingFile } from "cli/ceilings/host_file.ts";
import {
  type AgentSpending,
  agentSpending,
  type HostSpending,
  NO_SPENDING,
  parseHostSpending,
  remember,
  spendingIn,
} from "cli/ceilings/host_spending.ts";
import type { VerbContext } from "cli/context.ts";
import { agentsToAsk } from "cli/dial_units.ts";
import { usageOf } from "cli/usage/read.ts";
import { unitOf } from "cli/waiting_units.ts";
import { type HostCeilings, printHostCeilings } from "core/dial/host_ceilings.ts";
import { ceilingViewOf } from "core/dial/local_frames.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Ceiling, ceilingKey, PERIODS, stretchOf } from "core/usage/ceiling.ts";
import { type PriceTable, readPrices } from "core/usage/prices.ts";
import { stateOfCeiling } from "core/usage/spend.ts";

/** A change of the ceilings before they are summed. */
export interface HostChange {
  readonly allow?: { readonly ceiling: Pick<Ceiling, "period" | "unit">; readonly count: number };
}

/** Reads the ceilings that are set. */
export async function readHostCeilings(
  { ports, paths }: VerbContext,
): Promise<Result<readonly Ceiling[]>> {
  const text = await ports.files.readText(paths.ceilingsFile);
  return parseHostCeilingFile(text, paths.ceilingsFile);
}

/** Sums up and publishes; undefined for a host without a ceiling. Waits for another sum to end. */
export async function sumHost(
  context: VerbContext,
  change: HostChange = {},
): Promise<Result<HostCeilings | undefined>> {
  const { ports: { files }, paths } = context;
  await files.ensureDir(paths.locks, { mode: 0o700 });
  const lock = await files.lock(`${paths.locks}/host-ceilings.lock`);
  try {
    const ceilings = await readHostCeilings(context);
    if (!ceilings.ok) return ceilings;
    if (ceilings.value.length === 0) {
      await files.remove(paths.hostCeilings);
      return ok(undefined);
    }
    return await sumCeilings(context, ceilings.value, change);
  } catch (thrown) {
    return err(notStored(errorText(thrown)));
  } finally {
    await lock.release();
  }
}

async function sumCeilings(
  context: VerbContext,
  ceilings: readonly Ceiling[],
  { allow }: HostChange,
): Promise<Result<HostCeilings>> {
  const { ports: { files, clock }, paths } = context;
  const prices = ceilings.some(({ unit }) => unit === "usd")
    ? await readPrices(files, paths)
    : ok(new Map() as PriceTable);
  if (!prices.ok) return prices;
  const now = clock.now();
  const found = await queryAgents(context, ceilings, now);
  if (!found.ok) return found;
  const old = parseHostSpending(await files.readText(paths.hostSpending));
  const kept = remember(old ?? NO_SPENDING, found.value.spent, now);
  const spending = allow === undefined ? kept : withAllowance(kept, allow, now);
  await files.write(paths.hostSpending, `${JSON.stringify(spending)}\n`, { mode: 0o600 });
  const isPartial = found.value.hasUnread || old === undefined;
  const states = ceilings.map((ceiling) =>
    stateOfCeiling(ceiling, {
      now,
      prices: prices.value,
      allowances: spending.allowances,
      spendingOf: ({ since }) => spendingIn(spending, since, ceiling.period, isPartial),
    })
  );
  const sums = { summed_at: now, ceilings: states.map(ceilingViewOf) };
  await files.write(paths.hostCeilings, printHostCeilings(sums), { mode: 0o644 });
  return ok(sums);
}

/** Queries each agent for each period that has a ceiling. */
async function queryAgents(context: VerbContext, ceilings: readonly Ceiling[], now: number) {
  const names = await agentsToAsk(context);
  if (!names.ok) return names;
  const periods = PERIODS.filter((each) => ceilings.some(({ period }) => period === each));
  const answers = await Promise.all(
    names.value.flatMap((agent) =>
      periods.map((period) => queryAgent(context, agent, period, now))
    ),
  );
  return ok({
    spent: answers.flatMap((answer) => answer ?? []),
    hasUnread: answers.includes(undefined),
  });
}

async function queryAgent(
  context: VerbContext,
  agent: AgentName,
  period: AgentSpending["period"],
  now: number,
): Promise<AgentSpending | undefined> {
  const stretch = stretchOf(period, now);
  const usage = await usageOf(unitOf(context, agent), agent, { ...stretch, with_running: true });
  return usage.ok ? agentSpending(usage.value, { period, since: stretch.since }) : undefined;
}

function withAllowance(
  spending: HostSpending,
  { ceiling, count }: NonNullable<HostChange["allow"]>,
  now: number,
): HostSpending {
  const { since } = stretchOf(ceiling.period, now);
  const allowance = { key: ceilingKey(ceiling), since, more: count, byOwner: 0 };
  return { ...spending, allowances: [...spending.allowances, allowance] };
}

function notStored(why: string): Refusal {
  return refusal("host-ceilings-not-stored", `Cannot store the ceilings of this host: ${why}`, {
    hints: ["df -h /var/lib/fleetctl"],
  });
}
