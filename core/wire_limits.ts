/**
 * What one connection of a proxy's listener may take: bytes and time. Apart from `core/limits.ts`, which is
 * long enough.
 *
 * @module
 */

const KIB = 1024;

/** A connection that the listener of a proxy has accepted. */
export const WIRE_LIMITS = {
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
