/**
 * The tokens of a turn, as programs report them: sums of calls, or differences of counters. A
 * number that cannot be true is not counted, and the sum is then marked as partial. No I/O.
 *
 * @module
 */

import { USAGE_LIMITS } from "core/limits/usage.ts";
import type { ModelUsage } from "units/dial/runtimes/driver.ts";

/** Tokens of one model. A token is counted in one of the four fields. */
export type TokenCounts = Omit<ModelUsage, "model">;

/** The tokens of a turn by model. */
export interface TurnUsage {
  readonly models: readonly ModelUsage[];
  /** The turn used more than this. */
  readonly isPartial: boolean;
}

/** Adds up the tokens of a turn. */
export interface UsageMeter {
  /**
   * Adds tokens of a model. Counts that are unusable, or all zero, are not added and mark the turn
   * as partial: every call of a model uses tokens.
   */
  add(model: unknown, counts: TokenCounts | undefined): void;
  /** Marks the turn as partial. */
  miss(): void;
  /** Returns the tokens so far and begins the next turn; undefined when there are none. */
  take(): TurnUsage | undefined;
}

/** Model of tokens whose program does not name one. */
const UNNAMED_MODEL = "unknown";

/** A report of tokens: a field that a program omits is zero. */
export type ReportedCounts = Readonly<Partial<Record<keyof TokenCounts, unknown>>>;

/** Reads reported counts; undefined when one of them is no number of tokens. */
export function readCounts(reported: ReportedCounts): TokenCounts | undefined {
  const { inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens } = reported;
  const counts = [inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens]
    .map((value) => value ?? 0);
  if (!counts.every(isCount)) return undefined;
  const [input = 0, output = 0, cachedRead = 0, cachedWrite = 0] = counts;
  return {
    inputTokens: input,
    outputTokens: output,
    cachedReadTokens: cachedRead,
    cachedWriteTokens: cachedWrite,
  };
}

/** Reads counts of a program whose input includes the cached tokens. */
export function readInclusiveCounts(reported: ReportedCounts): TokenCounts | undefined {
  const counts = readCounts(reported);
  if (counts === undefined) return undefined;
  const inputTokens = counts.inputTokens - counts.cachedReadTokens - counts.cachedWriteTokens;
  return inputTokens < 0 ? undefined : { ...counts, inputTokens };
}

/** Returns what was added to a counter; undefined when it was set back. */
export function growthOf(before: TokenCounts, after: TokenCounts): TokenCounts | undefined {
  return readCounts({
    inputTokens: after.inputTokens - before.inputTokens,
    outputTokens: after.outputTokens - before.outputTokens,
    cachedReadTokens: after.cachedReadTokens - before.cachedReadTokens,
    cachedWriteTokens: after.cachedWriteTokens - before.cachedWriteTokens,
  });
}

/** Whether no token is counted. */
export function isNothing(counts: TokenCounts): boolean {
  return Object.values(counts).every((count) => count === 0);
}

/** Creates a meter. */
export function createUsageMeter(): UsageMeter {
  return new TurnMeter();
}

class TurnMeter implements UsageMeter {
  #models = new Map<string, TokenCounts>();
  #isPartial = false;

  add(model: unknown, counts: TokenCounts | undefined): void {
    const name = nameOf(model);
    const sum = counts === undefined || isNothing(counts)
      ? undefined
      : sumOf(this.#models.get(name), counts);
    const isRoom = this.#models.has(name) || this.#models.size < USAGE_LIMITS.modelsPerTurnMax;
    const isPlausible = sum !== undefined &&
      Object.values(sum).every((count) => count <= USAGE_LIMITS.tokensMax);
    if (!isPlausible || !isRoom) return this.miss();
    this.#models.set(name, sum);
  }

  miss(): void {
    this.#isPartial = true;
  }

  take(): TurnUsage | undefined {
    const models = [...this.#models].map(([model, counts]) => ({ model, ...counts }));
    const isPartial = this.#isPartial;
    this.#models = new Map();
    this.#isPartial = false;
    return models.length === 0 ? undefined : { models, isPartial };
  }
}

function sumOf(before: TokenCounts | undefined, added: TokenCounts): TokenCounts | undefined {
  return before === undefined ? added : readCounts({
    inputTokens: before.inputTokens + added.inputTokens,
    outputTokens: before.outputTokens + added.outputTokens,
    cachedReadTokens: before.cachedReadTokens + added.cachedReadTokens,
    cachedWriteTokens: before.cachedWriteTokens + added.cachedWriteTokens,
  });
}

function nameOf(model: unknown): string {
  const name = typeof model === "string" ? model.trim() : "";
  return name.slice(0, USAGE_LIMITS.modelLengthMax) || UNNAMED_MODEL;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
