/**
 * Limits that only the gateway uses. Each has its unit in its name and its reason in a comment.
 *
 * @module
 */

const MIB = 1024 * 1024;

/** Streams from the gateway to browsers. */
export const STREAM_LIMITS = {
  /** Bytes queued for one client; the rest is read from the log when the client reads again. */
  clientBufferBytesMax: MIB,
  /** Events replayed from the log for one resume; a client that needs more gets `lagged`. */
  replayEventsMax: 10_000,
  keepAliveSeconds: 15,
  requestBodyBytesMax: MIB,
  /** Events, turns and bytes of one transcript page, and bytes of one turn on a page. */
  pageEventsMax: 500,
  pageEventsDefault: 100,
  pageTurnsMax: 50,
  pageBytesMax: 4 * MIB,
  turnBytesMax: MIB,
  /** Agents named in one `topics` list. */
  topicsMax: 64,
  /** Open streams of one viewer. */
  streamsPerViewerMax: 64,
} as const;

/** Conversations of one agent. */
export const CONVERSATION_LIMITS = {
  /** A person can find one among them, and a list is counted within a millisecond. */
  perAgentMax: 10_000,
  nameLengthMax: 100,
  pageDefault: 100,
  pageMax: 1_000,
} as const;

/** Requests from pages about models. Each one starts a program as root. */
export const MODEL_LIMITS = {
  /** Open at the same time, for all agents of a gateway. */
  openMax: 4,
} as const;
