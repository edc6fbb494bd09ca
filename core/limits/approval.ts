/**
 * Limits of approvals. Each name has its unit, and each comment its reason.
 *
 * @module
 */

const KIB = 1024;

/** Calls that need a human decision. */
export const APPROVAL_LIMITS = {
  /** Default time for a decision; after it the call is denied. A person may sleep before it. */
  askSeconds: 24 * 3600,
  askSecondsMin: 60,
  askSecondsMax: 30 * 24 * 3600,
  /**
   * Time between the decision and the call, or between the return of a caller that had ended and
   * the call. The caller is waiting, so it takes moments.
   */
  useSeconds: 60,
  /** Time for a caller that has ended to ask again while its turn runs; servers may start slowly. */
  returnSeconds: 120,
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
