/**
 * Messages that were sent into a running turn. Pure.
 *
 * @module
 */

import { text, type WireEvent } from "gateway/web/state/wire.ts";

/** A message that the turn has read while it ran. */
export interface SteerStep {
  readonly kind: "steer";
  readonly key: string;
  readonly text: string;
}

/** Returns the step of a `turn_steered` event. */
export function steerStepOf({ seq, payload }: WireEvent): SteerStep {
  return { kind: "steer", key: String(seq), text: text(payload.text) };
}

/** Whether the program of a turn accepts messages while it runs. */
export function acceptsMessages(group: readonly WireEvent[]): boolean {
  return group.some(({ kind, payload }) => kind === "turn_started" && payload.steers === true);
}

/** The properties of a turn that decide whether its message can be sent now. */
export interface SteerTurn {
  readonly turnId: string;
  readonly state: string;
  readonly conversation: string;
  readonly acceptsMessages: boolean;
}

/** Whether the running turn can read the message of a waiting one. */
export function canSendNow(waiting: SteerTurn, running: SteerTurn | undefined): boolean {
  return waiting.state === "delivered" && running?.state === "working" &&
    running.acceptsMessages && running.turnId !== waiting.turnId &&
    running.conversation === waiting.conversation;
}
