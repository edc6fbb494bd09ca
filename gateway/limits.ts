/**
 * Bounds of what the gateway alone decides, each with its unit in its name and its
 * reason beside it.
 *
 * @module
 */

const MIB = 1024 * 1024;

/** Streams from the gateway to browsers. */
export const STREAM_LIMITS = {
  /** Bytes queued for one client before it is told `lagged` and must refetch. */
  clientBufferBytesMax: MIB,
  /** Events replayed at once from the log for one resume; more means `lagged`. */
  replayEventsMax: 10_000,
  keepAliveSeconds: 15,
  requestBodyBytesMax: MIB,
  /** Events, turns and bytes of one page of a transcript, and bytes of one turn on it. */
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

/** Questions of pages about models, each of which starts a program as root. */
export const MODEL_DESK_LIMITS = {
  /** Open at the same time, for all agents of a gateway. */
  openMax: 4,
} as const;
