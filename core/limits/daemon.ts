/**
 * Limits of the root daemon's socket. Each name has its unit, and each comment its reason.
 *
 * @module
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** The root daemon's socket. */
export const DAEMON_LIMITS = {
  requestBytesMax: MIB,
  argumentsMax: 256,
  /** One argument, in UTF-16 units; large enough for the JSON arguments of a tool. */
  argumentLengthMax: 64 * KIB,
  connectionsPerUidMax: 16,
  /** Connections in total, for all uids except root; far below the limit on open files. */
  connectionsMax: 1_024,
  /**
   * Verbs of one uid that run at once; each is a separate process. More of them wait in a queue.
   */
  verbsPerUidMax: 4,
  /**
   * Token bucket for the requests of one uid: its size and its refill rate. Root has no such limit.
   */
  requestsBurst: 64,
  requestsPerSecond: 16,
  /** Uids whose rate is remembered before idle ones are removed. */
  uidsKept: 1_024,
  /** A uid that exceeds a limit is logged at most once in this time. */
  logIntervalMs: 60_000,
  /** A client that reads no output for this long is dropped. */
  writeSeconds: 30,
  /** How often a read-only verb checks whether its client still waits. */
  probeSeconds: 2,
  requestSeconds: 5,
  /** Longest path of a unix socket (sockaddr_un, less the terminating NUL). */
  socketPathLengthMax: 107,
} as const;
