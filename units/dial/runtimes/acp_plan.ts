/**
 * Reads the todo list of an ACP `plan` update. Pure.
 *
 * @module
 */

import { PLAN_LIMITS, type PlanEntry } from "core/limits/plan.ts";
import { isRecord } from "core/text/json_object.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";

const STATES: Readonly<Record<string, PlanEntry["state"]>> = {
  in_progress: "active",
  completed: "done",
};

/** Returns the update for a list; nothing for one without entries in the known form. */
export function planOf({ entries }: Readonly<Record<string, unknown>>): readonly RuntimeUpdate[] {
  if (!Array.isArray(entries)) return [];
  const read = entries.slice(0, PLAN_LIMITS.entriesMax).flatMap((entry): PlanEntry[] => {
    if (!isRecord(entry) || typeof entry.content !== "string") return [];
    const text = entry.content.slice(0, PLAN_LIMITS.entryLengthMax).toWellFormed();
    return [{ text, state: STATES[String(entry.status)] ?? "pending" }];
  });
  return entries.length > 0 && read.length === 0 ? [] : [{ kind: "plan", entries: read }];
}
