/**
 * Bounds of approvals, each with its unit in its name and its reason beside it.
 *
 * @module
 */

const KIB = 1024;

/** Calls that a human decides about. */
export const APPROVAL_LIMITS = {
  /** Nobody decided within this: denied. */
  askSeconds: 3600,
  /** Between the decision and the call; whoever asked is there and waits, so it takes moments. */
  useSeconds: 60,
  /** Open at once for one agent. */
  openMax: 32,
  /** Arguments that can be shown whole; nobody approves what nobody can read. */
  argumentsBytesMax: 256 * KIB,
  reasonLengthMax: 1000,
  /** What is kept of a reason, whoever sends it. */
  reasonBytesMax: 4000,
  /** Ended ones that a dial unit and the gateway remember. */
  endedKept: 1024,
  /** A waiting client is told at this pace that the call is alive. */
  progressSeconds: 15,
} as const;
