/**
 * Bounds of messages between agents, each with its unit in its name and its reason beside it.
 *
 * @module
 */

const KIB = 1024;

/** Messages between agents. */
export const MESSAGE_LIMITS = {
  textBytesMax: 64 * KIB,
  /** Messages of one agent in one minute. */
  perMinuteMax: 30,
  /** Turns that follow from one another by messages; ends two agents that thank each other. */
  hopsMax: 8,
  /** How long a sender waits for the gateway's answer. */
  answerSeconds: 30,
} as const;
