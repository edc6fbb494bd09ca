/**
 * Spend ceilings of an agent: how much it may spend in an hour, a day or a month, in US dollars or
 * in tokens, and how much more its owner may allow. Their text is `day=5usd+2usd,hour=200k-tokens`.
 * Periods are those of UTC. Pure.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { HOUR_MS } from "core/text/duration.ts";

/** The periods of ceilings, the shortest first. */
export const PERIODS = ["hour", "day", "month"] as const;
/** One of `PERIODS`. */
export type Period = typeof PERIODS[number];

/** What a ceiling counts. */
export const SPEND_UNITS = ["usd", "tokens"] as const;
/** One of `SPEND_UNITS`. */
export type SpendUnit = typeof SPEND_UNITS[number];

/** An amount of one unit. */
export interface Amount {
  readonly unit: SpendUnit;
  /** Dollars with at most two decimals, or whole tokens. */
  readonly count: number;
}

/** One ceiling. An agent has at most one for each period and unit. */
export interface Ceiling {
  readonly period: Period;
  readonly unit: SpendUnit;
  readonly limit: number;
  /** How much more the agent's owner may allow in each period; 0 for nothing. */
  readonly ownerMore: number;
}

/** A stretch of time: from `since` on, and before `until`; milliseconds since the epoch. */
export interface Stretch {
  readonly since: number;
  readonly until: number;
}

/** Highest amounts. A larger number is a mistake in the unit. */
const COUNT_MAX: Readonly<Record<SpendUnit, number>> = { usd: 1_000_000, tokens: 1e12 };
const FACTORS: Readonly<Record<string, number>> = { "": 1, k: 1e3, m: 1e6, g: 1e9 };
const AMOUNT = /^(?:(\d{1,7}(?:\.\d{1,2})?)usd|(\d{1,12})([kmg]?)-tokens)$/;
const WANTED = "must be ceilings such as day=5usd, hour=200k-tokens or month=50usd+10usd";
/** Longest text; six ceilings are shorter. */
const TEXT_LENGTH_MAX = 400;

/** Parses ceilings, separated by commas. */
export function parseCeilings(text: string): Result<readonly Ceiling[]> {
  if (text.length > TEXT_LENGTH_MAX) return err(invalid("must be shorter"));
  const ceilings: Ceiling[] = [];
  for (const part of text.split(",")) {
    const ceiling = parseCeiling(part.trim());
    if (ceiling === undefined) return err(invalid(WANTED));
    const { period, unit } = ceiling;
    if (ceilings.some((other) => ceilingKey(other) === ceilingKey(ceiling))) {
      return err(invalid(`must have at most one ceiling of the ${period} in ${unit}`));
    }
    ceilings.push(ceiling);
  }
  return ok(ceilings.sort((a, b) => rankOf(a) - rankOf(b)));
}

function parseCeiling(text: string): Ceiling | undefined {
  const [, period = "", limit = "", more] = /^([a-z]+)=([^+]*)(?:\+(.*))?$/.exec(text) ?? [];
  const found = PERIODS.find((each) => each === period);
  const first = parseAmount(limit);
  const second = more === undefined ? undefined : parseAmount(more);
  if (found === undefined || first === undefined) return undefined;
  if (more !== undefined && second?.unit !== first.unit) return undefined;
  return { period: found, unit: first.unit, limit: first.count, ownerMore: second?.count ?? 0 };
}

/** Parses an amount above zero, such as `5usd` or `200k-tokens`; undefined when it is none. */
export function parseAmount(text: string): Amount | undefined {
  const [, usd, tokens, factor = ""] = AMOUNT.exec(text.toLowerCase()) ?? [];
  const unit = usd === undefined ? "tokens" : "usd";
  const count = Number(usd ?? tokens ?? 0) * (FACTORS[factor] ?? 1);
  return count > 0 && count <= COUNT_MAX[unit] ? { unit, count } : undefined;
}

/** Prints ceilings in the form that `parseCeilings` accepts. */
export function printCeilings(ceilings: readonly Ceiling[]): string {
  return ceilings.map(({ period, unit, limit, ownerMore }) => {
    const more = ownerMore === 0 ? "" : `+${printAmount({ unit, count: ownerMore })}`;
    return `${period}=${printAmount({ unit, count: limit })}${more}`;
  }).join(",");
}

/** Prints an amount in the form that `parseAmount` accepts. */
export function printAmount({ unit, count }: Amount): string {
  if (unit === "usd") return `${Number(count.toFixed(2))}usd`;
  const [letter, factor] = Object.entries(FACTORS).reverse()
    .find(([, each]) => count % each === 0) ?? ["", 1];
  return `${count / factor}${letter}-tokens`;
}

/** Returns the amount for people: `5.02 USD`, `200,000 tokens`, `1 token`. */
export function amountText({ unit, count }: Amount): string {
  if (unit === "usd") return `${count.toFixed(2)} USD`;
  const whole = Math.round(count);
  const digits = String(whole).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${digits} ${whole === 1 ? "token" : "tokens"}`;
}

/** Returns what distinguishes the ceilings of an agent: `day-usd`. */
export function ceilingKey({ period, unit }: Pick<Ceiling, "period" | "unit">): string {
  return `${period}-${unit}`;
}

/** Returns the hour, day or month of UTC that contains a time. */
export function stretchOf(period: Period, now: number): Stretch {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (period === "month") return { since: Date.UTC(year, month), until: Date.UTC(year, month + 1) };
  const length = period === "hour" ? HOUR_MS : 24 * HOUR_MS;
  const since = Math.floor(now / length) * length;
  return { since, until: since + length };
}

function rankOf({ period, unit }: Ceiling): number {
  return PERIODS.indexOf(period) * SPEND_UNITS.length + SPEND_UNITS.indexOf(unit);
}

function invalid(why: string) {
  return refusal("ceiling-invalid", `Cannot use the ceilings: ${why}`, { kind: "usage" });
}
