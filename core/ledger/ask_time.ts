/**
 * How long a person has to decide about a call of an agent, as the agent's shard states it: `8h`.
 * No I/O.
 *
 * @module
 */

import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import { parseDuration } from "core/text/duration.ts";

/** Returns why a text cannot be such a time; undefined when it can. */
export function askTimeRule(text: string): string | undefined {
  const seconds = askSecondsOf(text);
  const { askSecondsMin, askSecondsMax } = APPROVAL_LIMITS;
  return seconds !== undefined && seconds >= askSecondsMin && seconds <= askSecondsMax
    ? undefined
    : "must be 1m to 30d, such as 8h";
}

/** Returns the whole seconds of such a time; undefined for another text. */
export function askSecondsOf(text: string): number | undefined {
  const parsed = parseDuration(text);
  return parsed.ok ? Math.round(parsed.value / 1_000) : undefined;
}
