/**
 * Limits of turns and their events. Each name has its unit, and each comment its reason.
 *
 * @module
 */

const KIB = 1024;

/** Turns and events. */
export const TURN_LIMITS = {
  textBytesMax: 256 * KIB,
  /** Queued turns of one agent at the gateway. */
  queuedTurnsMax: 64,
  /** Text of one tool result in the event log; the rest is cut and the cut is stated. */
  toolResultBytesMax: 256 * KIB,
  /** Arguments of one tool call in the event log. */
  toolArgumentsBytesMax: 64 * KIB,
  /** One message of the assistant in one event; longer ones are split. */
  messageBytesMax: 256 * KIB,
  idempotencyKeyLengthMax: 128,
  /** Ended turns that a dial unit remembers, so that it does not run a repeated one again. */
  endedTurnsKept: 1024,
} as const;
