/**
 * What a turn lost when its runtime or its dial unit ended, for runtimes that do not continue a
 * turn. No such program says so by itself: it deletes an open call, or invents a result. So the
 * model reads a note before the next turn of the conversation, and the person sees a notice. Pure.
 *
 * @module
 */

import { type Approval, isOpen } from "core/risk/approval.ts";
import { type NotedCall, notedCall, type TurnProgress } from "units/dial/progress_table.ts";
import { oneLine } from "units/dial/turn_files.ts";

/**
 * | Approvals of the same call in this turn | The call is |
 * |---|---|
 * | none, or fewer than such calls | `unknown`: it was sent without one |
 * | one was claimed, or is still open | `unknown` |
 * | all were denied | `denied`, and was not made |
 * | otherwise | `waiting`: it waited for an approval, and was not made |
 */
export type LostState = "unknown" | "denied" | "waiting";

/** A call to which no tool has answered. */
export interface LostCall extends NotedCall {
  readonly callId: string;
  readonly state: LostState;
}

// With these limits a note has at most 8 KiB.
/** Calls that a note or a notice names; for further ones only the count is given. */
const NAMED_MAX = 8;
const NAME_LENGTH_MAX = 64;
const ARGUMENTS_LENGTH_MAX = 120;
const REASON_LENGTH_MAX = 300;

/** Returns the calls of a turn that have no result, or that were stopped with their turn. */
export function lostCalls(
  { calls, results, stopped }: TurnProgress,
  approvals: readonly Approval[],
): readonly LostCall[] {
  const keys = [...calls.values()].map(keyOf);
  return [...calls].filter(([id]) => !results.has(id) || stopped.has(id)).map(([callId, call]) => {
    const same = approvals.filter((each) => keyOf(notedCall(each)) === keyOf(call));
    const calledTimes = keys.filter((key) => key === keyOf(call)).length;
    return { callId, ...call, state: stateOf(same, calledTimes) };
  });
}

function keyOf(call: NotedCall): string {
  return `${call.name} ${call.arguments}`;
}

function stateOf(approvals: readonly Approval[], calledTimes: number): LostState {
  if (approvals.length < calledTimes) return "unknown";
  if (approvals.some((each) => each.state === "applied" || isOpen(each))) return "unknown";
  return approvals.every(({ verdict }) => verdict?.decision === "denied") ? "denied" : "waiting";
}

/** The text that stands for the result of a call. */
export const LOST_TEXT: Readonly<Record<LostState, string>> = {
  unknown: "outcome unknown: the turn ended while this call ran",
  denied: "not made: it was denied",
  waiting: "not made: the turn ended while it waited for an approval",
};

/** The note for the model, one bracket on each line. */
export function cutNote(reason: string, calls: readonly LostCall[]): string {
  const why = oneLine(reason, REASON_LENGTH_MAX);
  const head = `[interrupted: an earlier turn of this conversation was cut off: ${why}. Its ` +
    "message, your answer and its tool results may be missing from your history]";
  const lines = calls.slice(0, NAMED_MAX).map((call) => {
    const given = oneLine(call.arguments, ARGUMENTS_LENGTH_MAX);
    return `[interrupted: ${nameOf(call)} ${given}: ${LOST_TEXT[call.state]}]`;
  });
  const more = calls.length - lines.length;
  if (more > 0) lines.push(`[interrupted: ${more} more calls without a result]`);
  if (calls.some(({ state }) => state === "unknown") || more > 0) {
    lines.push(
      "[interrupted: a call with an unknown outcome may have taken effect. Assume nothing: check " +
        "before you make it again]",
    );
  }
  return [head, ...lines].join("\n");
}

/** The notice for the person; undefined when no call was lost. */
export function cutNotice(calls: readonly LostCall[]): string | undefined {
  if (calls.length === 0) return undefined;
  const named = calls.slice(0, NAMED_MAX).map((call) =>
    `${nameOf(call)}: ${LOST_TEXT[call.state]}`
  );
  const more = calls.length > named.length ? [`${calls.length - named.length} more calls`] : [];
  return `The turn was cut off during calls. ${[...named, ...more].join("; ")}. ` +
    "The agent reads this before its next turn";
}

function nameOf({ name, callId }: LostCall): string {
  return `${oneLine(name, NAME_LENGTH_MAX)} (${oneLine(callId, NAME_LENGTH_MAX)})`;
}
