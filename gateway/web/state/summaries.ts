/**
 * The summary of earlier messages as a step of a turn. Pure.
 *
 * @module
 */

import { number, text, type WireEvent } from "gateway/web/state/wire.ts";

/** The summary that replaces earlier messages for the model. */
export interface SummaryStep {
  readonly kind: "summary";
  readonly key: string;
  readonly text: string;
  readonly isByOwner: boolean;
  /** Whether it is complete, and of the conversation that the composer writes to. */
  readonly isEditable: boolean;
}

/** Returns the step of a summary; `group` has the events of its turn. */
export function summaryOf({ seq, payload }: WireEvent, group: readonly WireEvent[]): SummaryStep {
  const isElsewhere = group.some((event) => event.payload.conversation !== undefined);
  return {
    kind: "summary",
    key: String(seq),
    text: text(payload.text),
    isByOwner: payload.by === "owner",
    isEditable: !isElsewhere && number(payload.cut_bytes) === 0,
  };
}
