/**
 * Limits of HTTP listeners and clients. Each name has its unit, and each comment its reason.
 *
 * @module
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Every HTTP listener. */
export const HTTP_LIMITS = {
  /** Time for a peer to send its headers, from its connection or the last answer on. */
  headersMsMax: 10_000,
  /** The same for headers and body; an answer may take any time. */
  requestMsMax: 30_000,
  /** How long an idle connection is kept for the next request. */
  keepAliveMs: 5_000,
  /** How often the limits above are checked; a connection may live this much longer. */
  checkMs: 2_500,
} as const;

/** A proxy's connections to the one server behind it. */
export const UPSTREAM_LIMITS = {
  /** Bytes of an answer's status line and headers. */
  headBytesMax: 64 * KIB,
  /** Bytes of one read; a stream buffers at most this much. */
  readBytes: 16 * KIB,
  /** Interim answers, such as 103, before the final one. */
  interimAnswersMax: 8,
  /** Idle connections that are kept; as many may be connecting. */
  idleConnectionsMax: 64,
  /** Shorter than the server's own limit, so that the server does not close first. */
  idleMsMax: HTTP_LIMITS.keepAliveMs - 1_000,
} as const;

/** Short requests to other servers (`core/http1/os/http_call.ts`). */
export const HTTP_CALL_LIMITS = {
  /** Idle connections that are kept; as many may be connecting. */
  idleConnectionsMax: 64,
  idleMsMax: 30_000,
  /** Time to connect, TLS included. */
  connectMsMax: 5_000,
} as const;

/** Answers of a role to the CLI. */
export const ANSWER_LIMITS = {
  /** Large enough for the cards of ten thousand agents, and for any event of a stream. */
  bytesMax: 16 * MIB,
} as const;
