/**
 * Brings a whole answer to the platform, once, and says honestly what became of it. Survives a kill
 * at any point: what was sent for sure is stored after each message.
 *
 * | Message | Request | Can be repeated |
 * |---|---|---|
 * | the first, with a stream | end of the stream | yes: the stream ends once, and says so afterwards |
 * | the first, its stream over or refusing | edit of its message | yes |
 * | any other | a new message | only after 429, or when no connection was made |
 *
 * A new message whose fate is open (a time-out, a 5xx, a kill) is not sent again: the owner would
 * read it twice. The agent is told `ambiguous`.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits.ts";
import type { Clock } from "core/ports.ts";
import { splitMessage } from "core/teamchat/split.ts";
import { messageBody } from "teamchat/reply/activities.ts";
import type { Connector } from "teamchat/reply/connector.ts";
import type { LiveMode } from "teamchat/reply/live.ts";
import type { CallOutcome } from "teamchat/reply/outcome.ts";
import type { DeliveryOutcome, DeliveryProgress, Turn } from "teamchat/store/turn.ts";

/** What became of an answer, or that it waits for the next start. */
export type Delivered =
  | {
    readonly outcome: DeliveryOutcome;
    readonly ids: readonly string[];
    readonly reason: string | undefined;
  }
  | "stopping";

/** What a delivery is made of. */
export interface DeliverParts {
  readonly turn: Turn;
  readonly text: string;
  /** How the answer was shown so far. */
  readonly mode: LiveMode;
  readonly connector: Connector;
  readonly clock: Clock;
  /** Stores how far it is; rejects nothing, because what was sent stays sent. */
  readonly keep: (progress: Partial<DeliveryProgress>) => void;
  /** The gateway stops: no further request is begun. */
  readonly signal: AbortSignal;
}

/** Outcome of one message. */
type PartOutcome =
  | { readonly kind: "sent"; readonly id: string | undefined }
  | { readonly kind: "smaller" }
  | { readonly kind: "stopping" }
  | { readonly kind: "over"; readonly outcome: DeliveryOutcome; readonly reason: string };

/** Delivers an answer. */
export function deliverAnswer(parts: DeliverParts): Promise<Delivered> {
  return new Delivery(parts).run();
}

class Delivery {
  readonly #parts: DeliverParts;
  #partLength: number;
  #partsSent: number;
  #ids: readonly string[];
  /** The first message that could not be told for sure. */
  #doubt: string | undefined;
  #throttledMs = 0;

  constructor(parts: DeliverParts) {
    this.#parts = parts;
    const { partLength, partsSent, ids } = parts.turn.progress;
    this.#partLength = partLength ?? TEAMCHAT_LIMITS.messageLengthMax;
    this.#partsSent = partsSent;
    this.#ids = ids;
  }

  async run(): Promise<Delivered> {
    const { turn, text } = this.#parts;
    if (turn.progress.isSending) this.#doubtful("the gateway was restarted while it was sent");
    let messages = splitMessage(text, this.#partLength);
    while (this.#partsSent < messages.length) {
      const at = this.#partsSent;
      const outcome = await this.#send(messages[at] ?? "", {
        isFirst: at === 0,
        isLast: at + 1 === messages.length,
      });
      if (outcome.kind === "stopping") return "stopping";
      if (outcome.kind === "over") {
        return { outcome: outcome.outcome, ids: this.#ids, reason: outcome.reason };
      }
      if (outcome.kind === "smaller") {
        const smaller = this.#halve(messages, at);
        if (smaller === undefined) return { outcome: "too_large", ids: this.#ids, reason: "413" };
        messages = smaller;
      } else this.#sent(outcome.id);
    }
    return this.#doubt === undefined
      ? { outcome: "delivered", ids: this.#ids, reason: undefined }
      : { outcome: "ambiguous", ids: this.#ids, reason: this.#doubt };
  }

  #sent(id: string | undefined): void {
    this.#partsSent++;
    if (id !== undefined) this.#ids = [...this.#ids, id];
    this.#parts.keep({ partsSent: this.#partsSent, ids: this.#ids, isSending: false });
  }

  #doubtful(why: string): void {
    this.#doubt ??= why;
    this.#sent(undefined);
  }

  /** Cuts what is left into pieces half as long; what is out stays as it is. */
  #halve(messages: readonly string[], at: number): readonly string[] | undefined {
    const length = Math.floor(this.#partLength / 2);
    if (length < TEAMCHAT_LIMITS.messageLengthMin) return undefined;
    this.#partLength = length;
    // Only an answer of which nothing is out can be cut anew by a later process as well.
    if (at === 0) this.#parts.keep({ partLength: length, isSending: false });
    const rest = messages.slice(at).flatMap((message) => splitMessage(message, length));
    return [...messages.slice(0, at), ...rest];
  }

  #send(
    text: string,
    place: { readonly isFirst: boolean; readonly isLast: boolean },
  ): Promise<PartOutcome> {
    const { stream } = this.#parts.turn.progress;
    const hasStream = stream !== undefined && place.isFirst;
    return hasStream ? this.#finish(text, stream, place.isLast) : this.#post(text, place.isLast);
  }

  /** Ends the stream with the text; once its time is over or it does not answer, edits its message. */
  async #finish(text: string, stream: string, isLast: boolean): Promise<PartOutcome> {
    const { turn, connector, signal, clock } = this.#parts;
    let isEdit = this.#parts.mode === "editing" || this.#isStreamOver();
    for (let tries = 0; tries < TEAMCHAT_LIMITS.repeatsMax;) {
      if (signal.aborted) return { kind: "stopping" };
      const options = { isAnswer: true, isLast, ...(isEdit ? {} : { stream }) };
      const outcome = await connector.call({
        site: turn.site,
        method: isEdit ? "PUT" : "POST",
        ...(isEdit ? { activity: stream } : {}),
        body: messageBody(turn.site, text, options),
        what: isEdit ? "final-edit" : "final",
      }, signal);
      switch (outcome.kind) {
        case "ok":
          return { kind: "sent", id: stream };
        case "throttled": {
          const over = await this.#throttled(outcome.waitMs);
          if (over !== undefined) return over;
          continue;
        }
        case "stream-ended":
          if (outcome.why === "completed" && !isEdit) return { kind: "sent", id: stream };
          if (outcome.why === "cancelled") return over("cancelled", "stopped by the owner");
          if (outcome.why !== "time" || isEdit) return await this.#post(text, isLast);
          isEdit = true;
          continue;
        case "gone":
          // Its message was deleted, so nothing of it can be read twice.
          return await this.#post(text, isLast);
        case "ambiguous":
        case "unreachable":
        case "failed":
          tries++;
          if (outcome.kind !== "unreachable" && tries >= REPEATS_BEFORE_EDIT) isEdit = true;
          await clock.sleep(backOffMs(tries), signal);
          continue;
        default:
          return settled(outcome);
      }
    }
    this.#doubt ??= "the platform did not answer";
    return { kind: "sent", id: undefined };
  }

  /** Posts a new message. Its fate is stored as open before it goes. */
  async #post(text: string, isLast: boolean): Promise<PartOutcome> {
    const { turn, connector, signal, clock, keep } = this.#parts;
    keep({ isSending: true });
    for (let tries = 0; tries < TEAMCHAT_LIMITS.repeatsMax;) {
      if (signal.aborted) return this.#unsent({ kind: "stopping" });
      const replyTo = turn.site.type === "personal" ? undefined : turn.activity;
      const body = messageBody(turn.site, text, { isAnswer: true, isLast, replyTo });
      const outcome = await connector.call(
        { site: turn.site, method: "POST", activity: replyTo, body, what: "message" },
        signal,
      );
      switch (outcome.kind) {
        case "ok":
          return { kind: "sent", id: outcome.id };
        case "throttled": {
          const over = await this.#throttled(outcome.waitMs);
          if (over !== undefined) return this.#unsent(over);
          continue;
        }
        case "unreachable":
          tries++;
          await clock.sleep(backOffMs(tries), signal);
          continue;
        case "ambiguous":
          this.#doubt ??= outcome.why;
          return { kind: "sent", id: undefined };
        case "stream-ended":
          return this.#unsent(over("failed", outcome.why));
        default:
          return this.#unsent(settled(outcome));
      }
    }
    return this.#unsent(over("failed", "no connection to the platform"));
  }

  /** Notes that a message certainly did not go out. */
  #unsent(outcome: PartOutcome): PartOutcome {
    this.#parts.keep({ isSending: false });
    return outcome;
  }

  async #throttled(waitMs: number): Promise<PartOutcome | undefined> {
    const { clock, signal } = this.#parts;
    if (this.#throttledMs > TEAMCHAT_LIMITS.throttledMs) return over("throttled", "429");
    this.#throttledMs += waitMs;
    await clock.sleep(waitMs, signal);
    return undefined;
  }

  #isStreamOver(): boolean {
    const { streamAt } = this.#parts.turn.progress;
    return streamAt === undefined ||
      this.#parts.clock.now() - streamAt >= TEAMCHAT_LIMITS.streamMs;
  }
}

/** Tries to end a stream before its message is edited instead. */
const REPEATS_BEFORE_EDIT = 2;

function backOffMs(tries: number): number {
  return TEAMCHAT_LIMITS.repeatFirstMs * 2 ** (tries - 1);
}

function over(outcome: DeliveryOutcome, reason: string): PartOutcome {
  return { kind: "over", outcome, reason };
}

/** Outcomes that no repetition changes. */
function settled(
  outcome: Exclude<
    CallOutcome,
    { kind: "ok" | "throttled" | "unreachable" | "ambiguous" | "stream-ended" }
  >,
): PartOutcome {
  switch (outcome.kind) {
    case "too-large":
      return { kind: "smaller" };
    case "blocked":
      return over("blocked", outcome.why);
    case "gone":
      return over("blocked", "the conversation is gone");
    case "unauthorized":
      return over("failed", "unauthorized");
    case "failed":
      return over("failed", outcome.why);
  }
}
