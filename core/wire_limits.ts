/**
 * What one connection of a proxy's listener may take: bytes and time. Apart from `core/limits.ts`, which is
 * long enough.
 *
 * @module
 */

const KIB = 1024;

/** A connection that the listener of a proxy has accepted. */
export const WIRE_LIMITS = {
  /** Connections at once, all clients together: two descriptors each are half of the unit's. */
  connectionsMax: 16 * 1024,
  /**
   * The same of one client, an IPv4 address or an IPv6 /64: a browser takes six, so an office behind one
   * address has room. Proxies that speak for many have no such bound.
   */
  connectionsOfOneMax: 1024,
  /** Who is turned away hears why, as long as no more than these are being told. */
  turnedAwayMax: 256,
  turnedAwayRetrySeconds: 5,
  /** That connections are turned away is written about once in this time. */
  fullNewsMs: 60_000,
  /** What a connection costs before it has said anything; heads of browsers fit. */
  readBytesFirst: 4 * KIB,
  /** Head of a request; a body is read in pieces of at most this size. */
  headBytesMax: 16 * KIB,
  /** A head and a body that are at most this together are sent in one go. */
  writeBytesJoined: 16 * KIB,
  /** Body of unknown length that is gathered for HTTP/1.0, so that it gets one. */
  gatheredBytesMax: 1024 * KIB,
  /** A peer that takes nothing of an answer for so long is let go. */
  takerMsMax: 60_000,
  /** After an answer that leaves a body unread, its sender has so long to notice. */
  lingerMsMax: 5_000,
} as const;
