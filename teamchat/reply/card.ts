/**
 * Sends a card of the gateway. A duplicate card is harmless, because its request is settled only
 * once. So a request with an unknown result is retried, a few times.
 *
 * @module
 */

import { backoffMs } from "core/concurrency/backoff.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Connector } from "teamchat/reply/connector.ts";
import type { DeliveryOutcome, ReplyContext } from "teamchat/store/turn.ts";

/** A card to send. */
export interface Card {
  readonly context: ReplyContext;
  readonly body: Readonly<Record<string, unknown>>;
  /** Label for the counters. */
  readonly what: string;
}

/** Result of sending it. */
export interface CardSent {
  readonly outcome: DeliveryOutcome;
  readonly reason: string | undefined;
  readonly id: string | undefined;
}

const TRIES_MAX = 4;

/** Sends it; never rejects. */
export async function sendCard(
  { context, body, what }: Card,
  by: { readonly connector: Connector; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<CardSent> {
  const { connector, clock, signal } = by;
  const ended = (outcome: DeliveryOutcome, reason?: string, id?: string) => ({
    outcome,
    reason,
    id,
  });
  let open: string | undefined;
  for (let tries = 1;; tries++) {
    const sent = await connector.call({ context, method: "POST", body, what }, signal);
    switch (sent.kind) {
      case "ok":
        return ended("delivered", undefined, sent.id);
      case "blocked":
        return ended("blocked", sent.why);
      case "gone":
        return ended("blocked", "the conversation is gone");
      case "too-large":
        return ended("too_large", "413");
      case "failed":
      case "stream-ended":
        return ended("failed", sent.why);
      case "unauthorized":
        return ended("failed", "unauthorized");
    }
    if (sent.kind === "ambiguous") open = sent.why;
    if (tries >= TRIES_MAX || signal.aborted) {
      if (open !== undefined) return ended("ambiguous", open);
      return sent.kind === "throttled"
        ? ended("throttled", "429")
        : ended("failed", "no connection");
    }
    const waitMs = sent.kind === "throttled"
      ? sent.waitMs
      : backoffMs(TEAMCHAT_LIMITS.repeat, tries - 1);
    await clock.sleep(waitMs, signal);
  }
}
