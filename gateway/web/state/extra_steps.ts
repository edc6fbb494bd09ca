/**
 * Steps of a turn besides messages, calls and questions: summaries, messages that were sent into
 * the turn, and the todo list. Pure.
 *
 * @module
 */

import type { PlanEntry } from "core/limits/plan.ts";
import { type SteerStep, steerStepOf } from "gateway/web/state/steering.ts";
import { summaryOf, type SummaryStep } from "gateway/web/state/summaries.ts";
import { record, text, type WireEvent } from "gateway/web/state/wire.ts";

/** The todo list of the turn, as it was last written. */
export interface PlanStep {
  readonly kind: "plan";
  readonly key: string;
  readonly entries: readonly PlanEntry[];
}

/** One of these steps. */
export type ExtraStep = SummaryStep | SteerStep | PlanStep;

/** Returns the step of an event; `group` has the events of its turn. */
export function extraStepOf(
  event: WireEvent,
  group: readonly WireEvent[],
): ExtraStep | undefined {
  switch (event.kind) {
    case "summary":
      return summaryOf(event, group);
    case "turn_steered":
      return steerStepOf(event);
    case "plan":
      return planOf(event, group);
    default:
      return undefined;
  }
}

/** Each list replaces the one before, so only the last one is shown. */
function planOf(event: WireEvent, group: readonly WireEvent[]): PlanStep | undefined {
  const isLast = group.findLast(({ kind }) => kind === "plan")?.seq === event.seq;
  const given = Array.isArray(event.payload.entries) ? event.payload.entries : [];
  const entries = given.map((each): PlanEntry => {
    const { state, ...of } = record(each);
    return {
      text: text(of.text),
      state: state === "active" || state === "done" ? state : "pending",
    };
  });
  return isLast && entries.length > 0 ? { kind: "plan", key: "plan", entries } : undefined;
}
