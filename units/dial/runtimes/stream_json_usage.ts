/**
 * The tokens of a streaming JSON runtime. Each `result` has counters by model of the whole process,
 * sub-agents and side requests included. Their growth since the last turn is the usage of a turn.
 * Pure.
 *
 * @module
 */

import { fieldsOf, type Message } from "units/dial/runtimes/message.ts";
import {
  createUsageMeter,
  growthOf,
  isNothing,
  readCounts,
  type TokenCounts,
  type TurnUsage,
} from "units/dial/runtimes/usage.ts";

/** Reads the counters of one process. */
export interface StreamUsage {
  /** Reads a `result` message. */
  read(result: Message): void;
  /** Returns the tokens since the last call; undefined when there are none. */
  take(): TurnUsage | undefined;
}

/** Creates the reader of a process that has just started. */
export function createStreamUsage(): StreamUsage {
  const meter = createUsageMeter();
  const counted = new Map<string, TokenCounts>();
  return {
    read(result) {
      for (const [model, value] of Object.entries(fieldsOf(result.modelUsage))) {
        const counts = readModel(fieldsOf(value));
        const before = counted.get(model);
        // A program that sets its counters back has begun to count again.
        const growth = counts === undefined || before === undefined
          ? counts
          : growthOf(before, counts) ?? counts;
        if (counts !== undefined) counted.set(model, counts);
        // The model did nothing in this turn.
        if (growth !== undefined && isNothing(growth)) continue;
        meter.add(model, growth);
      }
    },
    take: () => meter.take(),
  };
}

function readModel(of: Message): TokenCounts | undefined {
  return readCounts({
    inputTokens: of.inputTokens,
    outputTokens: of.outputTokens,
    cachedReadTokens: of.cacheReadInputTokens,
    cachedWriteTokens: of.cacheCreationInputTokens,
  });
}
