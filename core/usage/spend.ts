/**
 * Compares what an agent has spent with its ceilings. What has no known price is not zero: a
 * ceiling in dollars is then not comparable, and the agent pauses. Pure.
 *
 * @module
 */

import { type Ceiling, ceilingKey, type Stretch, stretchOf } from "core/usage/ceiling.ts";
import { costOf, type PriceTable, type TokenCounts } from "core/usage/prices.ts";

/** Tokens of one model on one day. */
export interface ModelSpend {
  readonly model: string;
  /** As `YYYY-MM-DD` in UTC. */
  readonly day: string;
  readonly tokens: TokenCounts;
  /** No prompt was longer. */
  readonly largestInput: number;
}

/** What was spent in a period, as far as it is known. */
export interface Spending {
  readonly models: readonly ModelSpend[];
  /** A program did not report everything, so more was spent. */
  readonly isPartial: boolean;
}

/** More that people allowed in one period. */
export interface Allowance {
  /** As `ceilingKey` returns it. */
  readonly key: string;
  /** Beginning of the period. */
  readonly since: number;
  readonly more: number;
  /** Part of `more` that counts against what the owner may allow. */
  readonly byOwner: number;
}

/**
 * The state of a ceiling: below four fifths, near, reached, or `unpriced`, which means that a model
 * in use has no price.
 */
export const LEVELS = ["below", "near", "reached", "unpriced"] as const;
/** One of `LEVELS`. */
export type Level = typeof LEVELS[number];

/** A ceiling in its current period. */
export interface CeilingState {
  readonly ceiling: Ceiling;
  readonly stretch: Stretch;
  readonly level: Level;
  readonly spent: number;
  /** More may have been spent. */
  readonly isMinimum: boolean;
  /** The limit, with what people allowed in this period. */
  readonly limit: number;
  /** How much more the owner may still allow in this period. */
  readonly ownerLeft: number;
  /** Models that have no price, for a ceiling in dollars. */
  readonly unpriced: readonly string[];
}

/** Share of a limit from which the agent's people are warned. */
const NEAR_SHARE = 0.8;
/** Dollars are compared in millionths; the rest is noise of the multiplication. */
const MILLIONTH = 1e6;
/** The smallest amount of dollars that can be allowed. */
const CENT = 0.01;

/** What a comparison needs. */
export interface SpendQuestion {
  readonly now: number;
  readonly allowances: readonly Allowance[];
  readonly prices: PriceTable;
  /** Model of the next call, if it is known. */
  readonly model?: string | undefined;
  spendingOf(stretch: Stretch): Spending;
}

/** Returns the state of one ceiling. */
export function stateOfCeiling(ceiling: Ceiling, question: SpendQuestion): CeilingState {
  const { now, allowances, prices, model } = question;
  const stretch = stretchOf(ceiling.period, now);
  const spending = question.spendingOf(stretch);
  const { spent, unpriced, isMinimum } = ceiling.unit === "tokens"
    ? tokensOf(spending)
    : dollarsOf(spending, prices, nextCall(model, now));
  const key = ceilingKey(ceiling);
  const allowed = allowances.filter((each) => each.key === key && each.since === stretch.since);
  const sum = (of: (each: Allowance) => number) =>
    allowed.reduce((total, each) => total + of(each), 0);
  const limit = ceiling.limit + sum(({ more }) => more);
  return {
    ceiling,
    stretch,
    level: levelOf(spent, limit, unpriced.length > 0),
    spent,
    isMinimum,
    limit,
    ownerLeft: Math.max(0, ceiling.ownerMore - sum(({ byOwner }) => byOwner)),
    unpriced,
  };
}

/** Returns the first ceiling that stops the agent. */
export function stoppingCeiling(states: readonly CeilingState[]): CeilingState | undefined {
  return states.find(({ level }) => level === "reached" || level === "unpriced");
}

/**
 * Returns how much more to allow, so that the agent can work on: half the ceiling, and twice what
 * exceeds the limit, rounded up to 1, 2 or 5 times a power of ten.
 */
export function suggestedMore(
  { ceiling, spent, limit }: Pick<CeilingState, "spent" | "limit"> & {
    readonly ceiling: Pick<Ceiling, "unit" | "limit">;
  },
): number {
  const least = ceiling.unit === "usd" ? CENT : 1;
  return rounded(Math.max(ceiling.limit / 2, 2 * (spent - limit), least));
}

/**
 * Returns what a press of the owner's card allows; undefined where the owner can allow nothing that
 * lets the agent continue.
 */
export function ownerMore(state: CeilingState): number | undefined {
  const { level, ownerLeft, spent, limit } = state;
  if (level !== "reached" || ownerLeft <= spent - limit) return undefined;
  return Math.min(ownerLeft, suggestedMore(state));
}

function rounded(count: number): number {
  const power = 10 ** Math.floor(Math.log10(count));
  const factor = [1, 2, 5].find((each) => count <= each * power * (1 + 1e-9)) ?? 10;
  // Cents that a binary fraction cannot hold exactly.
  return Number((factor * power).toFixed(2));
}

function levelOf(spent: number, limit: number, isUnpriced: boolean): Level {
  if (spent >= limit) return "reached";
  if (isUnpriced) return "unpriced";
  return spent >= limit * NEAR_SHARE ? "near" : "below";
}

interface Sum {
  readonly spent: number;
  readonly unpriced: readonly string[];
  readonly isMinimum: boolean;
}

function tokensOf({ models, isPartial }: Spending): Sum {
  const spent = models.reduce((sum, { tokens }) => sum + countOf(tokens), 0);
  return { spent, unpriced: [], isMinimum: isPartial };
}

function dollarsOf(
  { models, isPartial }: Spending,
  prices: PriceTable,
  next: readonly ModelSpend[],
): Sum {
  const unpriced = new Set<string>();
  let [usd, mayBeLong] = [0, false];
  for (const of of [...models, ...next]) {
    const cost = costOf(prices, of);
    if (cost?.lacksPrice !== false) unpriced.add(of.model);
    usd += cost?.usd ?? 0;
    mayBeLong ||= cost?.mayBeLong === true;
  }
  const spent = Math.round(usd * MILLIONTH) / MILLIONTH;
  return { spent, unpriced: [...unpriced].sort(), isMinimum: isPartial || mayBeLong };
}

/** The next call, without tokens: only its price matters. */
function nextCall(model: string | undefined, now: number): readonly ModelSpend[] {
  if (model === undefined) return [];
  const tokens = { input: 0, output: 0, cachedRead: 0, cachedWrite: 0 };
  return [{ model, day: new Date(now).toISOString().slice(0, 10), tokens, largestInput: 0 }];
}

function countOf({ input, output, cachedRead, cachedWrite }: TokenCounts): number {
  return input + output + cachedRead + cachedWrite;
}
