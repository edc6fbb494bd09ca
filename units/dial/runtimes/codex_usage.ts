/**
 * The tokens of a codex thread. The program reports counters of the whole thread, which survive a
 * resume, and repeats a report when nothing was added. So a turn's usage is the growth of the
 * counters. Pure.
 *
 * @module
 */

import { fieldsOf, type Message } from "units/dial/runtimes/message.ts";
import {
  createUsageMeter,
  growthOf,
  readInclusiveCounts,
  type TokenCounts,
  type TurnUsage,
} from "units/dial/runtimes/usage.ts";

/** Reads the counters of one thread. */
export interface CodexUsage {
  /** Sets the model of the tokens that follow. */
  use(model: unknown): void;
  /** Reads `tokenUsage`; `isOfTurn` says whether it is about the running turn. */
  read(tokenUsage: unknown, isOfTurn: boolean): void;
  /** Returns the tokens since the last call; undefined when there are none. */
  take(): TurnUsage | undefined;
}

/** Creates the reader of a thread. */
export function createCodexUsage(): CodexUsage {
  const meter = createUsageMeter();
  let model: unknown;
  /** The counters at the last report; unknown after a resume. */
  let counted: TokenCounts | undefined;

  /** Returns what a report adds; undefined when it adds nothing. */
  function addedBy(total: TokenCounts, last: TokenCounts | undefined): TokenCounts | undefined {
    if (counted === undefined) return last;
    // Counters that decreased have started again from 0.
    return growthOf(counted, total) ?? last;
  }

  return {
    use(given) {
      model = given;
    },
    read(tokenUsage, isOfTurn) {
      const { total: reported, last: ofCall } = fieldsOf(tokenUsage);
      const total = readBreakdown(fieldsOf(reported));
      if (total === undefined) return meter.miss();
      // A resumed thread reports the tokens of its earlier turns first.
      const isBefore = counted === undefined && !isOfTurn;
      const added = isBefore ? undefined : addedBy(total, readBreakdown(fieldsOf(ofCall)));
      const isRepeated = counted !== undefined && isSame(counted, total);
      counted = total;
      if (!isBefore && !isRepeated) meter.add(model, added);
    },
    take: () => meter.take(),
  };
}

function isSame(a: TokenCounts, b: TokenCounts): boolean {
  return a.inputTokens === b.inputTokens && a.outputTokens === b.outputTokens &&
    a.cachedReadTokens === b.cachedReadTokens && a.cachedWriteTokens === b.cachedWriteTokens;
}

function readBreakdown(of: Message): TokenCounts | undefined {
  return readInclusiveCounts({
    inputTokens: of.inputTokens,
    outputTokens: of.outputTokens,
    cachedReadTokens: of.cachedInputTokens,
    cachedWriteTokens: of.cacheWriteInputTokens,
  });
}
