/**
 * Bounds of the team-chat gateway, each with its unit in its name and its reason beside it.
 *
 * @module
 */

import { DAY_MS, HOUR_MS } from "core/text/duration.ts";

const KIB = 1024;

/** The team-chat gateway (docs/teamchat.md has the platform's own numbers and their sources). */
export const TEAMCHAT_LIMITS = {
  /** One activity; the platform's own largest messages are about a third of it. */
  bodyBytesMax: 256 * KIB,
  bodySeconds: 10,
  /** Nesting of an activity; cards are the deepest. */
  jsonDepthMax: 64,
  /** Requests that are being answered; more are asked to come again. */
  requestsAtOnceMax: 1_024,
  /** Of these, of one owner: who sends a thousand at once leaves room for the others. */
  ownerRequestsAtOnceMax: 64,
  retryAfterSeconds: 5,
  /** Clock skew that tokens may have (Bot Connector authentication, rule 5). */
  clockSkewSeconds: 300,
  /** Longest life of a connector's token; the platform's live an hour. */
  tokenSecondsMax: 24 * 3_600,
  tokenLengthMax: 16 * KIB,
  /** Verified tokens that are remembered, because a signature costs most of a request. */
  verifiedTokensKept: 4_096,
  /** Keys of the connector are fetched again after this long. */
  keysFreshMs: DAY_MS,
  /** Keys that could not be fetched again are used this long. */
  keysStaleMs: 5 * DAY_MS,
  /** An unknown key is looked for at most this often, and a failed fetch tried again. */
  keysCooldownMs: 30_000,
  keysRetryMs: 1_000,
  keysBytesMax: 512 * KIB,
  keysCountMax: 256,
  fetchSeconds: 10,
  /** Deliveries are recognized when they come again within this time. */
  deliveriesKeptMs: DAY_MS,
  /** Invokes that come again under a new id. */
  invokesKeptMs: 60_000,
  /** Turns waiting for one agent. */
  queuedTurnsMax: 64,
  /** Activities that wait for the sending half, all together, in UTF-16 units. */
  spoolLengthMax: 64 * 1024 * KIB,
  /**
   * A receiving half that stops hands over what it has for this long; its unit waits twice as long.
   */
  drainMs: 10_000,
  /**
   * An invoke is answered by the sending half within this time; the platform waits fifteen seconds.
   */
  invokeMs: 10_000,
  /** Ended turns that are kept, so that a late answer of an agent finds its place. */
  closedTurnsKeptMs: DAY_MS,
  /** An agent that is away this long is told about to its owner, once. */
  offlineNoticeMs: 10_000,
  sweepMs: 30_000,
  /** A registration token. */
  registrationSeconds: 60,
  registrationLengthMax: 2 * KIB,
  /** Nonces of registration tokens that are remembered. */
  noncesKept: 65_536,
  /** Text of one message, in UTF-16 units; longer answers are split. */
  messageLengthMax: 4_000,
  /** Shortest piece after the platform said "too large" again and again. */
  messageLengthMin: 250,
  /** The whole answer; what is longer is cut, and the cut is stated. */
  answerLengthMax: 256 * KIB,
  /** Words of an owner about an answer, and such events that wait for one agent. */
  feedbackLengthMax: 2_000,
  ownerEventsMax: 256,
  /** Messages of one agent by itself that are on their way. */
  sendsWaitingMax: 32,
  /** Sources of an answer (Teams: AI-generated content, citations). */
  citationsMax: 20,
  citationNameMax: 80,
  citationAbstractMax: 160,
  /** Text of a progress line (Teams streaming: informative updates). */
  informativeLengthMax: 1_000,
  /** Pause between two requests of one stream; the platform takes one a second. */
  streamGapMs: 1_500,
  /**
   * A stream that shows nothing new says so again, which is also how a press of "stop" is learned.
   */
  streamIdleMs: 20_000,
  /** The platform ends a stream after two minutes; from here on the message is edited instead. */
  streamMs: 105_000,
  /** Pause between two edits of one message. */
  editGapMs: 3_000,
  /** Typing signs where there is no stream. */
  typingMs: 3_000,
  /** Longest wait that a `Retry-After` can ask for. */
  retryAfterMsMax: 60_000,
  /** An answer that the platform does not take for this long is given up. */
  deliveryMs: 15 * 60_000,
  /** Pauses between requests that can be repeated safely double up to the longest. */
  repeat: { firstMs: 1_000, maxMs: 30_000 },
  /** Lines that hold the place of one message, when the platform does not confirm them. */
  linesMax: 4,
  responseBytesMax: 64 * KIB,
  /** The app token is fetched again this long before it ends. */
  appTokenEarlyMs: 300_000,
  /** Requests to the platform at once, all conversations together. */
  sendsAtOnceMax: 64,
  /** The same for one owner; owners take turns. */
  ownerSendsAtOnceMax: 8,
  /** A stranger is told once in this time that no agent is theirs. */
  strangerNoticeMs: HOUR_MS,
  strangersKept: 10_000,
  /** Days before its end from which a client secret is reported. */
  secretWarnDays: 30,
} as const;
