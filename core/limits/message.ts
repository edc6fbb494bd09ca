/**
 * Limits of messages between agents. Each name has its unit, and each comment its reason.
 *
 * @module
 */

const KIB = 1024;

/** Messages between agents. */
export const MESSAGE_LIMITS = {
  textBytesMax: 64 * KIB,
  /** Messages of one agent per minute. */
  perMinuteMax: 30,
  /** Longest chain of turns caused by messages; ends a loop of two agents that thank each other. */
  hopsMax: 8,
  /** How long a sender waits for the gateway's answer. */
  answerSeconds: 30,
} as const;
