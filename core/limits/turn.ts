/**
 * Bounds of turns and their events, each with its unit in its name and its reason beside it.
 *
 * @module
 */

const KIB = 1024;

/** Turns and events. */
export const TURN_LIMITS = {
  textBytesMax: 256 * KIB,
  /** Turns waiting at the gateway for one agent. */
  queuedTurnsMax: 64,
  /** Text of one tool result as stored in the event log; the rest is cut and the cut is stated. */
  toolResultBytesMax: 256 * KIB,
  /** Arguments of one tool call as stored in the event log. */
  toolArgumentsBytesMax: 64 * KIB,
  /** One message of the assistant in one event; longer ones are split. */
  messageBytesMax: 256 * KIB,
  idempotencyKeyLengthMax: 128,
  /** Ended turns that a dial unit remembers, so that a repeated one is not run again. */
  endedTurnsKept: 1024,
} as const;
