/**
 * Limits of accepted connections: number, bytes and time.
 *
 * @module
 */

const KIB = 1024;

/** Limits of accepted connections. */
export const WIRE_LIMITS = {
  /** Concurrent connections of all clients: two descriptors each, half of the unit's limit. */
  connectionsMax: 16 * 1024,
  /**
   * Concurrent connections of one client, an IPv4 address or an IPv6 /64. A browser opens six, so
   * an office behind one address has room. Trusted proxies have no such limit.
   */
  connectionsOfOneMax: 1024,
  /** Concurrent refusals that are answered; further connections are closed without an answer. */
  refusingMax: 256,
  refusedRetrySeconds: 5,
  /** Minimum time between two log records of refused connections. */
  fullLogMs: 60_000,
  /** Initial buffer of a connection; heads of browsers fit. */
  readBytesFirst: 4 * KIB,
  /** Maximum head of a request; bodies are read in chunks of at most this size. */
  headBytesMax: 16 * KIB,
  /** A head and a body of at most this total are sent in one write. */
  writeBytesJoined: 16 * KIB,
  /** Body of unknown length that is buffered for HTTP/1.0, to determine its length. */
  gatheredBytesMax: 1024 * KIB,
  /** A peer that reads nothing of an answer for this time is disconnected. */
  writeStallMsMax: 60_000,
  /** Time for the sender of an unread body to read the answer. */
  lingerMsMax: 5_000,
} as const;
