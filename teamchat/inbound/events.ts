/**
 * Reactions to activities: a turn is sent to its agent, a new conversation gets a greeting, and a
 * person without an agent gets a notice, at most once an hour.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Clock } from "core/ports/clock.ts";
import type { TtlCache } from "core/ttl_cache.ts";
import { parsePress, pressAnswer } from "teamchat/approval_card.ts";
import type { Agents } from "teamchat/agents.ts";
import type { InboundEvents } from "teamchat/inbound/messages.ts";
import type { Replies } from "teamchat/reply/replies.ts";
import type { ReplyContext } from "teamchat/store/turn.ts";

const WELCOME = "Hello. I am your agent: what you write here reaches me and no one else.";
const NOT_OFFERED = "This file is no longer offered.";
const AGENT_AWAY = "Your agent is not connected, so nothing was decided. Please try again.";
const STRANGER = "There is no agent for you here. An operator can give you one: " +
  "fleetctl agents add <name> --channel teamchat --owner-aad <your object id>";

/** Creates the reactions; `strangers` remembers who got the notice. */
export function createInboundEvents(deps: {
  readonly agents: Pick<Agents, "wake" | "decide" | "sendOwnerEvents" | "consented" | "fetch">;
  readonly replies: Pick<Replies, "note">;
  readonly clock: Clock;
  readonly strangers: TtlCache<true>;
}): InboundEvents {
  const { agents, replies, clock, strangers } = deps;
  return {
    onTurn: (agent) => agents.wake(agent),
    onAccepted: (activity, planned, stored) => {
      const isInstall = activity.type === "installationUpdate" ||
        activity.type === "conversationUpdate";
      const context = planned.conversation?.context;
      const { turn } = planned;
      if (turn !== undefined && (turn.files ?? []).length > 0) {
        agents.fetch(turn.turnId, turn.agent);
      }
      if (stored.kind === "new" && planned.consent !== undefined) {
        if (stored.isConsentTaken) agents.consented(planned.consent.fileId);
        else if (context !== undefined) replies.note(context, NOT_OFFERED);
      }
      if (stored.kind === "new" && planned.event !== undefined) {
        agents.sendOwnerEvents(planned.event.agent);
      }
      if (isInstall && stored.kind === "new" && stored.isNewConversation && context !== undefined) {
        replies.note(context, WELCOME);
      }
    },
    onInvoke: ({ name, value }, { conversation }) => {
      const decision = name === "adaptiveCard/action" ? parsePress(value) : undefined;
      if (decision === undefined || conversation === undefined) return undefined;
      const { agent, owner } = conversation;
      if (!agents.decide(agent, owner, decision)) return pressAnswer(AGENT_AWAY);
      return pressAnswer(decision.decision === "approved" ? "Approved." : "Denied.");
    },
    onStranger: (activity, { base, conversation }) => {
      const { from, recipient } = activity;
      // Only in personal chats: elsewhere others read along, and two bots could answer each other
      // forever.
      if (conversation !== "personal" || activity.type !== "message" || !from?.aadObjectId) return;
      if (strangers.get(from.id, clock.now()) === true) return;
      strangers.keep(from.id, true, clock.now() + TEAMCHAT_LIMITS.strangerNoticeMs);
      const context: ReplyContext = {
        base,
        conversation: activity.conversation.id,
        type: "personal",
        bot: { id: recipient?.id ?? "" },
        user: { id: from.id },
      };
      replies.note(context, STRANGER);
    },
  };
}
