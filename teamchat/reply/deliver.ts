/**
 * Delivers a whole answer to the platform so that its text appears at most once, and reports
 * whether that is delivered, uncertain or refused. Survives a kill at any point: the state of each
 * message is stored before the next request. The decisions are in `part_step.ts`.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Clock } from "core/ports/clock.ts";
import { type Citation, citationsIn, parseCitations } from "teamchat/reply/citations.ts";
import { lineBody, messageBody } from "teamchat/reply/activities.ts";
import type { Call, Connector } from "teamchat/reply/connector.ts";
import { cutAnswer, cutSmaller } from "teamchat/reply/cuts.ts";
import type { LiveMode } from "teamchat/reply/live.ts";
import type { CallOutcome } from "teamchat/reply/outcome.ts";
import { decidePart, type PartState } from "teamchat/reply/part_step.ts";
import type { Cut, DeliveryOutcome, DeliveryProgress, Turn } from "teamchat/store/turn.ts";

/** Outcome of an answer, or that it waits for the next start. */
export type Delivered =
  | {
    readonly outcome: DeliveryOutcome;
    readonly reason: string | undefined;
    /**
     * Progress of the delivery. The part that is not stored yet must be stored with the outcome.
     */
    readonly progress: Pick<DeliveryProgress, "partsSent" | "ids">;
  }
  | "stopping";

/** Dependencies of a delivery. */
export interface DeliverDeps {
  readonly turn: Turn;
  readonly text: string;
  /** How the answer has been shown so far. */
  readonly mode: LiveMode;
  readonly connector: Connector;
  readonly clock: Clock;
  /** Stores the progress. Never rejects, because sent messages cannot be withdrawn. */
  readonly keep: (progress: Partial<DeliveryProgress>) => Promise<void>;
  /** Aborted when the gateway stops, or the agent loses its owner: no request is started. */
  readonly signal: AbortSignal;
}

/** Outcome of one message. */
type PartOutcome =
  | { readonly kind: "sent"; readonly id: string | undefined }
  | { readonly kind: "smaller" }
  | { readonly kind: "stopping" }
  | { readonly kind: "over"; readonly outcome: DeliveryOutcome; readonly reason: string };

const UNSHOWN = "The answer could not be shown here.";

/** Delivers an answer. */
export function deliverAnswer(deps: DeliverDeps): Promise<Delivered> {
  return new Delivery(deps).run();
}

class Delivery {
  readonly #deps: DeliverDeps;
  #cuts: readonly Cut[];
  #partsSent: number;
  #ids: readonly string[];
  /** Why it is uncertain whether the answer was delivered: the reason of the first such message. */
  #doubt: string | undefined;
  #waitedMs = 0;
  #citations: readonly Citation[] = [];
  /** Id of the placeholder message for the next text. */
  #held: string | undefined;

  constructor(deps: DeliverDeps) {
    this.#deps = deps;
    const { cuts, partsSent, ids, held } = deps.turn.progress;
    this.#cuts = cuts;
    this.#partsSent = partsSent;
    this.#ids = ids;
    this.#held = held;
  }

  async run(): Promise<Delivered> {
    const { turn } = this.#deps;
    const { text, citations } = parseCitations(this.#deps.text);
    this.#citations = citations;
    if (turn.progress.isSending) {
      this.#doubt = "the gateway restarted while it sent the answer";
      await this.#keepSent(undefined);
    }
    let messages = cutAnswer(text, this.#cuts);
    while (this.#partsSent < messages.length) {
      const at = this.#partsSent;
      const outcome = await this.#send(messages[at] ?? "", at + 1 === messages.length);
      if (outcome.kind === "stopping") return "stopping";
      if (outcome.kind === "over") return await this.#over(outcome.outcome, outcome.reason);
      if (outcome.kind === "smaller") {
        const cuts = cutSmaller(this.#cuts, at);
        if (cuts === undefined) return await this.#over("too_large", "413");
        this.#cuts = cuts;
        await this.#deps.keep({ cuts });
        messages = cutAnswer(text, cuts);
      } else if (at + 1 === messages.length) this.#sent(outcome.id);
      else await this.#keepSent(outcome.id);
    }
    const [progress, doubt] = [this.#progress(), this.#doubt];
    return doubt === undefined
      ? { outcome: "delivered", reason: undefined, progress }
      : { outcome: "ambiguous", reason: doubt, progress };
  }

  #progress(): Pick<DeliveryProgress, "partsSent" | "ids"> {
    return { partsSent: this.#partsSent, ids: this.#ids };
  }

  /** Records a sent message. The last one is stored with the outcome, in one write. */
  #sent(id: string | undefined): void {
    this.#partsSent++;
    this.#held = undefined;
    if (id !== undefined) this.#ids = [...this.#ids, id];
  }

  async #keepSent(id: string | undefined): Promise<void> {
    this.#sent(id);
    await this.#deps.keep({
      partsSent: this.#partsSent,
      ids: this.#ids,
      isSending: false,
      held: undefined,
    });
  }

  /**
   * Ends without the remaining messages; replaces a placeholder, so that it does not stay forever.
   */
  async #over(outcome: DeliveryOutcome, reason: string): Promise<Delivered> {
    const { turn, connector, signal } = this.#deps;
    if (this.#held !== undefined && (outcome === "too_large" || outcome === "failed")) {
      const body = messageBody(turn.context, UNSHOWN);
      await connector.call(
        { context: turn.context, method: "PUT", activity: this.#held, body, what: "line-end" },
        signal,
      );
    }
    return { outcome, reason, progress: this.#progress() };
  }

  /** State in which the next message starts: its placeholder, the stream, or nothing shown yet. */
  #place(): PartState {
    if (this.#held !== undefined) return { at: "held", id: this.#held };
    const { stream } = this.#deps.turn.progress;
    if (stream === undefined || this.#partsSent > 0) return { at: "absent" };
    const isOver = this.#deps.mode === "editing" || this.#isStreamOver();
    return { at: isOver ? "held" : "stream", id: stream };
  }

  /** Sends one message. */
  async #send(text: string, isLast: boolean): Promise<PartOutcome> {
    const { clock, signal, keep } = this.#deps;
    let place = this.#place();
    let [open, lines] = [0, 0];
    for (;;) {
      if (signal.aborted) return await this.#unsent(place, { kind: "stopping" });
      if (place.at === "plain") await keep({ isSending: true });
      const outcome = await this.#request(place, text, isLast);
      // Aborted while it waited for the rate limits: nothing was sent.
      if (signal.aborted && outcome.kind === "unreachable") continue;
      if (isOpen(outcome)) open++;
      else open = 0;
      if (place.at === "absent" && outcome.kind !== "throttled") lines++;
      const decision = decidePart(place, outcome, { open, lines, waitedMs: this.#waitedMs });
      switch (decision.then) {
        case "sent":
          return { kind: "sent", id: decision.id };
        case "doubt":
          this.#doubt ??= decision.reason;
          return { kind: "sent", id: undefined };
        case "smaller":
          return await this.#unsent(place, { kind: "smaller" });
        case "over":
          return await this.#unsent(place, { ...decision, kind: "over" });
        case "next":
          place = await this.#moved(place, decision.place);
          this.#waitedMs += decision.waitMs;
          if (decision.waitMs > 0) await clock.sleep(decision.waitMs, signal);
      }
    }
  }

  /** Stores the new state of the message before a request is made in that state. */
  async #moved(from: PartState, to: PartState): Promise<PartState> {
    if (from.at === to.at) return to;
    const isLine = to.at === "held" && from.at === "absent";
    this.#held = isLine ? to.id : to.at === "held" ? this.#held : undefined;
    if (isLine || from.at === "held") await this.#deps.keep({ held: this.#held });
    return to;
  }

  #request(place: PartState, text: string, isLast: boolean): Promise<CallOutcome> {
    const { turn: { context, activity }, connector, signal } = this.#deps;
    const replyTo = context.type === "personal" ? undefined : activity;
    const options = { isAnswer: true, isLast, citations: citationsIn(text, this.#citations) };
    const call = ((): Omit<Call, "context"> => {
      switch (place.at) {
        case "absent": {
          const body = lineBody(context, replyTo);
          return { method: "POST", activity: replyTo, body, what: "line" };
        }
        case "stream": {
          const body = messageBody(context, text, { ...options, stream: place.id });
          return { method: "POST", body, what: "final" };
        }
        case "held": {
          const body = messageBody(context, text, options);
          return { method: "PUT", activity: place.id, body, what: "final-edit" };
        }
        case "plain": {
          const body = messageBody(context, text, { ...options, replyTo });
          return { method: "POST", activity: replyTo, body, what: "message" };
        }
      }
    })();
    return connector.call({ context, ...call }, signal);
  }

  /** Records that a new message was certainly not sent. */
  async #unsent(place: PartState, outcome: PartOutcome): Promise<PartOutcome> {
    if (place.at === "plain") await this.#deps.keep({ isSending: false });
    return outcome;
  }

  #isStreamOver(): boolean {
    const { streamAt } = this.#deps.turn.progress;
    return streamAt === undefined ||
      this.#deps.clock.now() - streamAt >= TEAMCHAT_LIMITS.streamMs;
  }
}

/** Whether the outcome counts for `PartTries.open`. */
function isOpen({ kind }: CallOutcome): boolean {
  return kind === "ambiguous" || kind === "unreachable" || kind === "failed";
}
