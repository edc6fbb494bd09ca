/**
 * Limits of approvals. Each name has its unit, and each comment its reason.
 *
 * @module
 */

const KIB = 1024;

/** Calls that need a human decision. */
export const APPROVAL_LIMITS = {
  /** Time for a decision; after it the call is denied. */
  askSeconds: 3600,
  /** Time between the decision and the call; the caller is waiting, so it takes moments. */
  useSeconds: 60,
  /** Open approvals of one agent. */
  openMax: 32,
  /** Arguments that can be shown in full; a human cannot approve what is not shown. */
  argumentsBytesMax: 256 * KIB,
  reasonLengthMax: 1000,
  /** Bytes that are kept of a reason, whatever its sender. */
  reasonBytesMax: 4000,
  /** Ended approvals that a dial unit and the gateway remember. */
  endedKept: 1024,
  /** Interval of the progress messages to a waiting client. */
  progressSeconds: 15,
} as const;
