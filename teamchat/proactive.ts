/**
 * Messages that an agent sends without a turn. They go to the latest personal chat of the agent's
 * own owner and nowhere else. A message that cannot be sent gets its outcome at once; all others
 * are stored first and get their outcome later.
 *
 * | State found | Outcome |
 * |---|---|
 * | no words | `failed` |
 * | longer than an answer may be | `too_large` |
 * | the owner never wrote, or the conversation accepts no more messages | `blocked` |
 * | more than thirty in a minute, or too many in flight | `throttled` |
 * | otherwise | the platform's result |
 *
 * @module
 */

import type { ClientFrame } from "core/dial/frames.ts";
import type { DialSession } from "core/dial/sessions.ts";
import { MESSAGE_LIMITS } from "core/limits/message.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { AgentName, ObjectId } from "core/names.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import { MINUTE_MS } from "core/text/duration.ts";
import type { Replies } from "teamchat/reply/replies.ts";
import type { TeamchatStore } from "teamchat/store/store.ts";
import type { Conversation, DeliveryOutcome } from "teamchat/store/turn.ts";

/** A message as received. */
export type OwnerMessage = Extract<ClientFrame, { type: "owner_message" }>;

/** Sends messages. */
export interface Proactive {
  /** The latest personal chat of an agent's owner, or the reason why nothing can be sent there. */
  placeFor(agent: string): Conversation | string;
  take(session: DialSession, message: OwnerMessage): void;
}

/** Dependencies. */
export interface ProactiveDeps {
  readonly store: Pick<TeamchatStore, "sends" | "conversations">;
  readonly owners: ReadonlyMap<ObjectId, AgentName>;
  readonly replies: Pick<Replies, "finish">;
  /** Reports the known outcomes to the agent. */
  readonly report: (agent: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Creates the sender of messages that agents send unprompted. */
export function createProactive(deps: ProactiveDeps): Proactive {
  const { store, owners, replies, report, clock, random, log } = deps;
  const sent = new Map<string, readonly number[]>();

  /** Counts a message. Returns true when the agent was already at its limit per minute. */
  function isOverRate(agent: string): boolean {
    const now = clock.monotonic();
    const recent = (sent.get(agent) ?? []).filter((at) => now - at < MINUTE_MS);
    const isOver = recent.length >= MESSAGE_LIMITS.perMinuteMax;
    sent.set(agent, isOver ? recent : [...recent, now]);
    return isOver;
  }

  /** The latest personal chat of an owner whose agent this is by the current settings. */
  function conversationOf(agent: string): Conversation | undefined {
    return [...owners].filter(([, name]) => name === agent)
      .map(([owner]) => store.conversations.personalOf(owner))
      .filter((found) => found !== undefined)
      .reduce<Conversation | undefined>(
        (last, each) => last === undefined || each.seen > last.seen ? each : last,
        undefined,
      );
  }

  function placeFor(agent: string): Conversation | string {
    const conversation = conversationOf(agent);
    if (conversation === undefined) return "the owner has not written to the bot yet";
    return conversation.blocked ?? conversation;
  }

  return {
    placeFor,
    take: (session, { id, text }) => {
      const { agent } = session;
      const refuse = (outcome: DeliveryOutcome, reason: string) => {
        log.info("message to an owner not sent", { agent, outcome, reason });
        session.send({ type: "owner_message_result", id, outcome, ids: [], reason });
      };
      if (text.trim() === "") return refuse("failed", "the text is empty");
      if (text.length > TEAMCHAT_LIMITS.answerLengthMax) {
        return refuse("too_large", `more than ${TEAMCHAT_LIMITS.answerLengthMax} characters`);
      }
      const place = placeFor(agent);
      if (typeof place === "string") return refuse("blocked", place);
      const { owner, context } = place;
      const [turnId, created] = [random.uuid(), clock.now()];
      if (isOverRate(agent)) {
        return refuse("throttled", `more than ${MESSAGE_LIMITS.perMinuteMax} in a minute`);
      }
      const stored = store.sends.add({ turnId, agent, sendId: id, owner, context, text, created });
      if (!stored.ok) return refuse("failed", stored.error.code);
      switch (stored.value) {
        case "new":
          return replies.finish(turnId);
        case "closed": {
          const unreported = store.sends.markUnreported(agent, id);
          return unreported.ok ? report(agent) : refuse("failed", unreported.error.code);
        }
        case "full":
          return refuse("throttled", "too many messages are on their way");
        case "under-way":
          return;
      }
    },
  };
}
