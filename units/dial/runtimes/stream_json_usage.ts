/**
 * The tokens of a streaming JSON runtime. Each `result` message has counters for each model. They
 * cover the whole process, including sub-agents and side requests. The usage of a turn is their
 * growth since the previous turn. Pure.
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
  /** Counts the tokens that a `result` message adds. */
  read(result: Message): void;
  /** Returns the tokens since the last `take`; undefined when there are none. */
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
        // A counter that shrank was reset, so everything it shows is new.
        const growth = counts === undefined || before === undefined
          ? counts
          : growthOf(before, counts) ?? counts;
        if (counts !== undefined) counted.set(model, counts);
        // The turn did not use this model. `add` would mark it as partial, because it is all zero.
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
