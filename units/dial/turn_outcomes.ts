/**
 * Outcomes of turns that the program did not end.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import type { TurnOutcome } from "units/dial/runtimes/driver.ts";

/** The dial unit was restarted while the turn ran. */
export const RESTARTED: TurnOutcome = {
  outcome: "interrupted",
  code: "dial-restarted",
  reason: "The agent's dial unit was restarted while the turn ran",
};
/** The dial unit stops while the turn runs. */
export const STOPPED: TurnOutcome = {
  outcome: "interrupted",
  code: "dial-stopped",
  reason: "The agent was stopped while the turn ran",
};
/** Cancelled before the program received the turn. */
export const CANCELLED: TurnOutcome = {
  outcome: "cancelled",
  code: "cancelled-before-start",
  reason: "Cancelled before the runtime received it",
};

/** Cancelled between two processes of the program. */
export const CANCELLED_BETWEEN: TurnOutcome = {
  outcome: "cancelled",
  code: "cancelled-before-restart",
  reason: "Cancelled while the runtime was not running",
};

/** Returns the outcome of a turn that is refused before the runtime receives it. */
export function refusedTurn({ code, message, details, hints }: Refusal): TurnOutcome {
  const more = [...details, ...hints.map((hint) => `hint: ${hint}`)];
  return { outcome: "failed", code, reason: [message, ...more].join("; ") };
}
