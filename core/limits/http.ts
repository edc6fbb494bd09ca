/**
 * Bounds of HTTP listeners and clients, each with its unit in its name and its reason beside it.
 *
 * @module
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Every HTTP listener: cockpit, dial-in and login. */
export const HTTP_LIMITS = {
  /** A peer has this long to send its headers, from its connection or its last answer on. */
  headersMsMax: 10_000,
  /** The same for a request with its body; an answer may take any time. */
  requestMsMax: 30_000,
  /** A connection without a request is kept this long for the next one. */
  keepAliveMs: 5_000,
  /** How often the two bounds above are looked at, so a connection may live this much longer. */
  checkMs: 2_500,
} as const;

/** A proxy's connections to the one server behind it. */
export const UPSTREAM_LIMITS = {
  /** Head of an answer. */
  headBytesMax: 64 * KIB,
  /** Read at once; a stream holds this much and no more. */
  readBytes: 16 * KIB,
  /** Answers such as 103 before the answer itself. */
  interimAnswersMax: 8,
  /** Connections that are kept for the next request; as many may be in the making. */
  idleConnectionsMax: 64,
  /** Kept for less than the server keeps them. */
  idleMsMax: HTTP_LIMITS.keepAliveMs - 1_000,
} as const;

/** Short requests to servers elsewhere (`core/http1/os/http_call.ts`). */
export const HTTP_CALL_LIMITS = {
  /** Connections that are kept for the next request; as many may be in the making. */
  idleConnectionsMax: 64,
  idleMsMax: 30_000,
  /** To a connection, its TLS included. */
  connectMsMax: 5_000,
} as const;

/** What a role answers to the command line. */
export const ANSWER_LIMITS = {
  /** The cards of ten thousand agents fit, and so does any event of a stream. */
  bytesMax: 16 * MIB,
} as const;
