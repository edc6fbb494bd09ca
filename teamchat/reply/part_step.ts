/**
 * Delivers one message of an answer so that its text appears at most once. Pure: the message's
 * state and the outcome of a request give the next state, or the end. The state is stored before
 * the next request is sent, so after a kill between any two requests the next process resumes from
 * it. Why: ADR 0016.
 *
 * A new message cannot be repeated: the platform may have accepted it and still answer 504. An
 * edit of a known message can be repeated, and so can the end of a stream. So the text of an
 * answer is not sent as a new message. First a placeholder line is posted, until the platform
 * returns its id. Then that message is edited to the text, repeatedly if necessary. Only the
 * placeholder can appear twice, never the answer.
 *
 * | State | Request | Accepted | Open (5xx, cut, time-out) | Refused |
 * |---|---|---|---|---|
 * | absent | new message: a placeholder | held, by its id; without an id: plain | absent, a few times | over |
 * | stream | end of the stream | sent | stream; after two tries held | time → held; cancelled → over; already completed → sent; else absent |
 * | held | edit | sent | held | gone → absent; cancelled → over; else plain |
 * | plain | new message: the text | sent | in doubt: not sent again, and the agent is notified | over |
 *
 * `plain` is for a platform that returns no ids or accepts no edits; it has certainly not accepted
 * the text yet. After a 429, or without a connection, every state stays the same. In every state a
 * 413 makes the text shorter, and a blocked conversation ends the delivery.
 *
 * Sources: Teams "Optimize your bot with rate limiting" (which answers may be repeated), "Stream
 * bot messages" (a stream ends once), Bot Connector REST API "Update Activity".
 *
 * @module
 */

import { backoffMs } from "core/concurrency/backoff.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { CallOutcome } from "teamchat/reply/outcome.ts";
import type { DeliveryOutcome } from "teamchat/store/turn.ts";

/** State of a message of an answer. */
export type PartState =
  | { readonly at: "absent" }
  | { readonly at: "stream"; readonly id: string }
  | { readonly at: "held"; readonly id: string }
  | { readonly at: "plain" };

/** What to do after a request. */
export type PartDecision =
  | { readonly then: "sent"; readonly id: string | undefined }
  /** Make the next request from `place`, after `waitMs`. */
  | { readonly then: "next"; readonly place: PartState; readonly waitMs: number }
  /** The text is too long for one message. */
  | { readonly then: "smaller" }
  /** It may have been delivered, and there is no way to find out. */
  | { readonly then: "doubt"; readonly reason: string }
  | { readonly then: "over"; readonly outcome: DeliveryOutcome; readonly reason: string };

/** Attempts for this message so far, including this request. */
export interface PartTries {
  /** Consecutive requests that failed, had an unknown result or were never sent. */
  readonly open: number;
  /** Requests to post a placeholder, without those that got a 429. */
  readonly lines: number;
  /** Total time that this answer has waited. */
  readonly waitedMs: number;
}

const ABSENT: PartState = { at: "absent" };
const PLAIN: PartState = { at: "plain" };
/** Attempts to end a stream before its message is edited instead. */
const ENDS_BEFORE_EDIT = 2;

/** Decides the next step after the request that was made from `place`. */
export function decidePart(
  place: PartState,
  outcome: CallOutcome,
  tries: PartTries,
): PartDecision {
  const isPatient = tries.waitedMs < TEAMCHAT_LIMITS.deliveryMs;
  switch (outcome.kind) {
    case "throttled":
      return isPatient ? next(place, outcome.waitMs) : over("throttled", "429");
    case "unreachable":
      return isPatient
        ? next(place, waitAfter(tries.open))
        : over("failed", "no connection to the platform");
    case "too-large":
      return { then: "smaller" };
    case "blocked":
      return over("blocked", outcome.why);
    case "unauthorized":
      return over("failed", "unauthorized");
    case "ambiguous":
    case "failed":
    case "gone":
    case "ok":
    case "stream-ended":
      return place.at === "absent"
        ? decideLine(outcome, tries)
        : place.at === "plain"
        ? decidePlain(outcome)
        : place.at === "stream"
        ? decideStream(place, outcome, tries)
        : decideHeld(place, outcome, { tries, isPatient });
  }
}

/** Outcomes whose meaning depends on the state. */
type Judged = Extract<
  CallOutcome,
  { kind: "ok" | "ambiguous" | "failed" | "gone" | "stream-ended" }
>;

function decideLine(outcome: Judged, { open, lines }: PartTries): PartDecision {
  switch (outcome.kind) {
    case "ok":
      return outcome.id === undefined ? next(PLAIN) : next({ at: "held", id: outcome.id });
    case "ambiguous":
      return lines < TEAMCHAT_LIMITS.placeholdersMax
        ? next(ABSENT, waitAfter(open))
        : over("failed", `the platform confirms no message: ${outcome.why}`);
    case "gone":
      return over("blocked", "the conversation is gone");
    case "failed":
    case "stream-ended":
      return over("failed", outcome.why);
  }
}

function decideStream(
  place: PartState & { readonly at: "stream" },
  outcome: Judged,
  { open }: PartTries,
): PartDecision {
  const held: PartState = { at: "held", id: place.id };
  switch (outcome.kind) {
    case "ok":
      return { then: "sent", id: place.id };
    case "ambiguous":
    case "failed":
      return next(open >= ENDS_BEFORE_EDIT ? held : place, waitAfter(open));
    case "gone":
      return next(ABSENT);
    case "stream-ended":
      switch (outcome.why) {
        case "completed":
          return { then: "sent", id: place.id };
        case "cancelled":
          return over("cancelled", "stopped by the owner");
        case "time":
          return next(held);
        case "not-allowed":
          return next(ABSENT);
      }
  }
}

function decideHeld(
  place: PartState & { readonly at: "held" },
  outcome: Judged,
  { tries, isPatient }: { readonly tries: PartTries; readonly isPatient: boolean },
): PartDecision {
  switch (outcome.kind) {
    case "ok":
      return { then: "sent", id: place.id };
    case "ambiguous":
      return isPatient ? next(place, waitAfter(tries.open)) : over("ambiguous", outcome.why);
    case "gone":
      // Its message was deleted, so a new one cannot show the text twice.
      return tries.lines < TEAMCHAT_LIMITS.placeholdersMax
        ? next(ABSENT)
        : over("failed", "the message is deleted each time");
    case "failed":
      return next(PLAIN);
    case "stream-ended":
      return outcome.why === "cancelled" ? over("cancelled", "stopped by the owner") : next(PLAIN);
  }
}

function decidePlain(outcome: Judged): PartDecision {
  switch (outcome.kind) {
    case "ok":
      return { then: "sent", id: outcome.id };
    case "ambiguous":
      return { then: "doubt", reason: outcome.why };
    case "gone":
      return over("blocked", "the conversation is gone");
    case "failed":
    case "stream-ended":
      return over("failed", outcome.why);
  }
}

function next(place: PartState, waitMs = 0): PartDecision {
  return { then: "next", place, waitMs };
}

function over(outcome: DeliveryOutcome, reason: string): PartDecision {
  return { then: "over", outcome, reason };
}

function waitAfter(tries: number): number {
  return backoffMs(TEAMCHAT_LIMITS.repeat, tries - 1);
}
