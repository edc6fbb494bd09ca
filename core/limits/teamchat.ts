/**
 * Limits of the team-chat gateway. Each name has its unit, and each comment its reason.
 *
 * @module
 */

import { DAY_MS, HOUR_MS } from "core/text/duration.ts";

const KIB = 1024;

/** The team-chat gateway (docs/teamchat.md lists the platform's own limits and their sources). */
export const TEAMCHAT_LIMITS = {
  /** One activity; the platform's largest messages are about a third of this. */
  bodyBytesMax: 256 * KIB,
  bodySeconds: 10,
  /** Nesting depth of an activity; cards are the deepest. */
  jsonDepthMax: 64,
  /** Concurrent requests; further ones get "try again later". */
  concurrentRequestsMax: 1_024,
  /** The same per owner: an owner who sends a thousand at once leaves room for others. */
  concurrentRequestsPerOwnerMax: 64,
  retryAfterSeconds: 5,
  /** Tolerated clock skew of tokens (Bot Connector authentication, rule 5). */
  clockSkewSeconds: 300,
  /** Longest lifetime of a connector's token; the platform's tokens live an hour. */
  tokenSecondsMax: 24 * 3_600,
  tokenLengthMax: 16 * KIB,
  /** Verified tokens that are cached, because a signature costs most of a request. */
  verifiedTokensKept: 4_096,
  /** The connector's keys are fetched again after this long. */
  keysFreshMs: DAY_MS,
  /** Keys that cannot be fetched again stay in use this long. */
  keysStaleMs: 5 * DAY_MS,
  /** Least time between fetches for an unknown key, and after a failed first fetch. */
  keysCooldownMs: 30_000,
  keysRetryMs: 1_000,
  keysBytesMax: 512 * KIB,
  keysCountMax: 256,
  fetchSeconds: 10,
  /** A repeated delivery is recognized within this time. */
  deliveriesKeptMs: DAY_MS,
  /** The same for invokes, which may be repeated under a new id. */
  invokesKeptMs: 60_000,
  /** Queued turns of one agent. */
  queuedTurnsMax: 64,
  /** Activities that wait for the sender, in total, in UTF-16 units. */
  spoolLengthMax: 64 * 1024 * KIB,
  /**
   * A stopping receiver forwards its remaining activities for this long; its unit waits twice as
   * long.
   */
  drainMs: 10_000,
  /** Time for the sender to answer an invoke; the platform waits fifteen seconds. */
  invokeMs: 10_000,
  /** Ended turns are kept this long, so that a late answer of an agent finds its conversation. */
  closedTurnsKeptMs: DAY_MS,
  /** The owner is notified once of an agent that is offline this long. */
  offlineNoticeMs: 10_000,
  sweepMs: 30_000,
  /** Lifetime of a registration token. */
  registrationSeconds: 60,
  registrationLengthMax: 2 * KIB,
  /** Nonces of registration tokens that are remembered. */
  noncesKept: 65_536,
  /** Text of one message, in UTF-16 units; longer answers are split. */
  messageLengthMax: 4_000,
  /** Shortest part of a message after the platform repeatedly answered "too large". */
  messageLengthMin: 250,
  /** The whole answer; a longer one is cut, and the cut is stated. */
  answerLengthMax: 256 * KIB,
  /** Length of an owner's feedback about an answer, and owner events that wait for one agent. */
  feedbackLengthMax: 2_000,
  ownerEventsMax: 256,
  /** Pending messages that one agent sends outside of an answer. */
  sendsWaitingMax: 32,
  /** Sources of an answer (Teams: AI-generated content, citations). */
  citationsMax: 20,
  citationNameMax: 80,
  citationAbstractMax: 160,
  /** Text of a progress line (Teams streaming: informative updates). */
  informativeLengthMax: 1_000,
  /** Pause between two requests of one stream; the platform accepts one per second. */
  streamGapMs: 1_500,
  /**
   * An idle stream sends an update after this long. The platform's response to it also tells
   * whether the user pressed "stop".
   */
  streamIdleMs: 20_000,
  /**
   * The platform ends a stream after two minutes; after this time the message is edited instead.
   */
  streamMs: 105_000,
  /** Pause between two edits of one message. */
  editGapMs: 3_000,
  /** Interval of typing indicators where there is no stream. */
  typingMs: 3_000,
  /** Longest wait that a `Retry-After` can cause. */
  retryAfterMsMax: 60_000,
  /** An answer that the platform does not accept for this long is abandoned. */
  deliveryMs: 15 * 60_000,
  /** Pauses between requests that are safe to repeat; they double up to the longest. */
  repeat: { firstMs: 1_000, maxMs: 30_000 },
  /** Most placeholder lines that are sent for one message, if the platform confirms none. */
  placeholdersMax: 4,
  responseBytesMax: 64 * KIB,
  /** The app token is renewed this long before it expires. */
  appTokenEarlyMs: 300_000,
  /** Concurrent requests to the platform, in all conversations. */
  concurrentSendsMax: 64,
  /** The same per owner; owners take turns. */
  concurrentSendsPerOwnerMax: 8,
  /** A person without an agent is notified of that once in this time. */
  strangerNoticeMs: HOUR_MS,
  strangersKept: 10_000,
  /** Days before its expiry from which a client secret is reported. */
  secretWarnDays: 30,
} as const;
