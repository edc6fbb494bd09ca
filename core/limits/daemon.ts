/**
 * Bounds of the root daemon's socket, each with its unit in its name and its reason beside it.
 *
 * @module
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** The root daemon's socket. */
export const DAEMON_LIMITS = {
  requestBytesMax: MIB,
  argumentsMax: 256,
  /** One argument, in UTF-16 units; JSON arguments of a tool fit. */
  argumentLengthMax: 64 * KIB,
  connectionsPerUidMax: 16,
  /** Connections of all uids but root together; far below what a process may have open. */
  connectionsMax: 1_024,
  /**
   * Verbs of one uid that run at once; each is a program of its own. More of them wait in a queue.
   */
  verbsPerUidMax: 4,
  /**
   * Requests of one uid that may come at once, and how fast that fills again; root has
   * no such bound.
   */
  requestsBurst: 64,
  requestsPerSecond: 16,
  /** Uids whose pace is remembered before the idle ones are forgotten. */
  uidsKept: 1_024,
  /** A uid that is over a bound is written about once in this time. */
  capNewsMs: 60_000,
  /** A client that takes no output for this long is dropped. */
  writeSeconds: 30,
  /** How often a verb that only reads looks whether anybody still waits for it. */
  probeSeconds: 2,
  requestSeconds: 5,
  /** Longest path of a unix socket (sockaddr_un, less the terminating NUL). */
  socketPathLengthMax: 107,
} as const;
