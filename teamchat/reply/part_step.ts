/**
 * How one message of an answer gets to the platform exactly once. Pure: the place where the message
 * stands and the outcome of a request give the next place, or the end. A place is stored before the
 * next request goes out, so a kill between any two requests goes on from where the
 * other process was. Why: ADR 0016.
 *
 * A new message cannot be repeated: the platform may have taken it and still answer 504. An
 * edit of a known message can be, and so can the end of a stream. So the text of an answer
 * never goes out as a new message. First a line that says nothing is posted, until the platform
 * names its id; then that message gets the text, as often as it takes. What can come twice is
 * the line, never the answer.
 *
 * | Place | Request | Taken | Open (5xx, cut, time-out) | Refused |
 * |---|---|---|---|---|
 * | absent | new message: a line | held, by its id; without an id: plain | absent, a few times | over |
 * | stream | end of the stream | sent | stream; after two tries held | time → held; else absent |
 * | held | edit | sent | held | gone → absent; else plain |
 * | plain | new message: the text | sent | in doubt: not sent again, and the agent is told | over |
 *
 * `plain` is for a platform that names no ids or takes no edits; it has surely not taken the text
 * yet. 429, and a connection that was not made, leave each place as it is.
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

/** Where a message of an answer stands. */
export type PartPlace =
  | { readonly at: "absent" }
  | { readonly at: "stream"; readonly id: string }
  | { readonly at: "held"; readonly id: string }
  | { readonly at: "plain" };

/** What became of a request. */
export type PartDecision =
  | { readonly then: "sent"; readonly id: string | undefined }
  /** The next request is made from `place`, after `waitMs`. */
  | { readonly then: "next"; readonly place: PartPlace; readonly waitMs: number }
  /** The text is too long for one message. */
  | { readonly then: "smaller" }
  /** It may be out, and nobody knows. */
  | { readonly then: "doubt"; readonly reason: string }
  | { readonly then: "over"; readonly outcome: DeliveryOutcome; readonly reason: string };

/** What was tried for this message so far, this request included. */
export interface PartTries {
  /** Requests in a row whose fate stayed open, or that never got there. */
  readonly open: number;
  /** Lines that were posted, or may have been. */
  readonly lines: number;
  /** Time that was waited for this answer in all. */
  readonly waitedMs: number;
}

const ABSENT: PartPlace = { at: "absent" };
const PLAIN: PartPlace = { at: "plain" };
/** Tries to end a stream before its message is edited instead. */
const ENDS_BEFORE_EDIT = 2;

/** Decides what follows from the outcome of the request that was made from `place`. */
export function decidePart(
  place: PartPlace,
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

/** Outcomes that mean something else at each place. */
type Judged = Extract<
  CallOutcome,
  { kind: "ok" | "ambiguous" | "failed" | "gone" | "stream-ended" }
>;

function decideLine(outcome: Judged, { open, lines }: PartTries): PartDecision {
  switch (outcome.kind) {
    case "ok":
      return outcome.id === undefined ? next(PLAIN) : next({ at: "held", id: outcome.id });
    case "ambiguous":
      return lines < TEAMCHAT_LIMITS.linesMax
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
  place: PartPlace & { readonly at: "stream" },
  outcome: Judged,
  { open }: PartTries,
): PartDecision {
  const held: PartPlace = { at: "held", id: place.id };
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
  place: PartPlace & { readonly at: "held" },
  outcome: Judged,
  { tries, isPatient }: { readonly tries: PartTries; readonly isPatient: boolean },
): PartDecision {
  switch (outcome.kind) {
    case "ok":
      return { then: "sent", id: place.id };
    case "ambiguous":
      return isPatient ? next(place, waitAfter(tries.open)) : over("ambiguous", outcome.why);
    case "gone":
      // Its message was deleted, so nothing of it can be read twice.
      return tries.lines < TEAMCHAT_LIMITS.linesMax
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

function next(place: PartPlace, waitMs = 0): PartDecision {
  return { then: "next", place, waitMs };
}

function over(outcome: DeliveryOutcome, reason: string): PartDecision {
  return { then: "over", outcome, reason };
}

function waitAfter(tries: number): number {
  return backoffMs(TEAMCHAT_LIMITS.repeat, tries - 1);
}
