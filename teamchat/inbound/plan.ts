/**
 * Maps an owner's accepted activity to a turn, a change of one, an update of its conversation, or
 * an answer to an invoke. Pure.
 *
 * | Type | Becomes |
 * |---|---|
 * | `message` with text, files or a submitted card | a turn |
 * | `messageUpdate` (edited) | the new text of a turn that still waits; else nothing |
 * | `messageDelete` | the end of a turn that still waits |
 * | `installationUpdate`, `conversationUpdate` | the conversation is stored, or marked as blocked |
 * | `invoke` | its answer |
 * | `messageReaction`, `invoke` with feedback | an event for the agent |
 * | anything else | the conversation is stored |
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { type Activity, conversationRoot, deliveryKey, invokeKey } from "core/teamchat/activity.ts";
import { parseConsent } from "teamchat/files/file_consent.ts";
import { filesOf } from "core/teamchat/file_refs.ts";
import { messageText } from "core/teamchat/message_text.ts";
import { parseOwnerEvent } from "teamchat/inbound/owner_event.ts";
import type { RouteDecision } from "core/teamchat/route.ts";
import type { Delivery } from "teamchat/store/intake.ts";
import type { Conversation, NewTurn, ReplyContext } from "teamchat/store/turn.ts";

type Routed = Extract<RouteDecision, { readonly kind: "route" }>;

/** What to store and to answer. */
export interface Planned {
  readonly delivery: Delivery;
  /** Label for the counters. */
  readonly what:
    | "turn"
    | "edit"
    | "delete"
    | "installed"
    | "removed"
    | "invoke"
    | "noted"
    | "empty";
  /** Body of the answer to an invoke. */
  readonly invoke?: string;
}

/** Context of the plan besides the activity. */
export interface PlanContext {
  readonly now: number;
  /** How long a turn may wait for its agent. */
  readonly offlineMs: number;
  /** Id for the resulting turn or event. */
  readonly turnId: string;
  readonly appId: string | undefined;
  /** An additional key of the delivery: the one under which the receiver handed it over. */
  readonly key?: string;
}

/** Fixed answers to invokes; the body that the platform expects. */
const INVOKE_ANSWERS: ReadonlyMap<string, string> = new Map([
  // A map, because the peer chooses the name, and an object also has a "constructor".
  [
    "adaptiveCard/action",
    '{"statusCode":200,"type":"application/vnd.microsoft.activity.message","value":""}',
  ],
  ["fileConsent/invoke", "{}"],
  ["message/submitAction", "{}"],
]);

/** Plans one routed activity. */
export function planDelivery(activity: Activity, route: Routed, context: PlanContext): Planned {
  const base = { keys: keysOf(activity, context), now: context.now };
  const conversation = conversationOf(activity, route, context.now);
  const event = eventOf(activity, route, context);
  switch (activity.type) {
    case "message":
      return planMessage(activity, route, { context, base, conversation });
    case "messageUpdate": {
      const text = messageText(activity, context.appId);
      const isEdit = activity.channelData?.eventType !== "undeleteMessage" && text !== "";
      const edit = { ...messageOf(activity, route), text };
      return { delivery: { ...base, conversation, ...(isEdit ? { edit } : {}) }, what: "edit" };
    }
    case "messageDelete": {
      const withdraw = messageOf(activity, route);
      return { delivery: { ...base, conversation, withdraw }, what: "delete" };
    }
    case "installationUpdate":
    case "conversationUpdate":
      return isRemoval(activity)
        ? {
          delivery: {
            ...base,
            block: { conversation: conversation.context.conversation, why: "removed" },
          },
          what: "removed",
        }
        : { delivery: { ...base, conversation }, what: "installed" };
    case "invoke": {
      const invoke = INVOKE_ANSWERS.get(activity.name ?? "") ?? "unknown";
      const consent = activity.name === "fileConsent/invoke"
        ? parseConsent(activity.value)
        : undefined;
      const withConsent = consent === undefined ? {} : { consent };
      const delivery = { ...base, conversation, answer: invoke, ...event, ...withConsent };
      return { delivery, what: "invoke", invoke };
    }
    default:
      return { delivery: { ...base, conversation, ...event }, what: "noted" };
  }
}

/** The message that an edit or a deletion concerns. */
function messageOf({ conversation, id }: Activity, { agent }: Routed) {
  return { agent, conversation: conversation.id, activity: id ?? "" };
}

function planMessage(
  activity: Activity,
  route: Routed,
  deps: {
    readonly context: PlanContext;
    readonly base: Pick<Delivery, "keys" | "now">;
    readonly conversation: Conversation;
  },
): Planned {
  const { context, base, conversation } = deps;
  // The platform transfers files in personal chats only.
  const { files, others } = route.conversation === "personal"
    ? filesOf(activity)
    : { files: [], others: activity.attachments };
  const text = messageText({ ...activity, attachments: [...others ?? []] }, context.appId) ||
    submittedText(activity.value);
  if (text === "" && files.length === 0) {
    return { delivery: { ...base, conversation }, what: "empty" };
  }
  const turn: NewTurn = {
    turnId: context.turnId,
    agent: route.agent,
    owner: route.owner,
    // In a channel, answers go to the thread of the question.
    context: { ...conversation.context, conversation: activity.conversation.id },
    activity: activity.id ?? undefined,
    text,
    created: context.now,
    expires: context.now + context.offlineMs,
    files,
  };
  return { delivery: { ...base, conversation, turn }, what: "turn" };
}

/** A submitted card has values instead of text. */
function submittedText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The owner's action on an answer, for the owner's agent. */
function eventOf(
  activity: Activity,
  { agent, owner }: Routed,
  { turnId: id, now }: PlanContext,
): Pick<Delivery, "event"> {
  const read = parseOwnerEvent(activity);
  if (read === undefined) return {};
  const { event: { kind, payload }, conversation, message } = read;
  return { event: { id, agent, owner, kind, payload, created: now, conversation, message } };
}

function keysOf(activity: Activity, context: PlanContext): Delivery["keys"] {
  const { now } = context;
  const key = deliveryKey(activity);
  return [
    ...(context.key === undefined
      ? []
      : [{ key: context.key, until: now + TEAMCHAT_LIMITS.deliveriesKeptMs }]),
    ...(key === undefined ? [] : [{ key, until: now + TEAMCHAT_LIMITS.deliveriesKeptMs }]),
    ...(activity.type === "invoke"
      ? [{ key: invokeKey(activity), until: now + TEAMCHAT_LIMITS.invokesKeptMs }]
      : []),
  ];
}

function isRemoval(activity: Activity): boolean {
  if (activity.type === "installationUpdate") {
    return (activity.action ?? "").toLowerCase().startsWith("remove");
  }
  const bot = activity.recipient?.id;
  return (activity.membersRemoved ?? []).some(({ id }) => id === bot);
}

function conversationOf(activity: Activity, route: Routed, now: number): Conversation {
  const { recipient, from, locale } = activity;
  const context: ReplyContext = {
    base: route.base,
    conversation: conversationRoot(activity.conversation.id),
    type: route.conversation,
    bot: { id: recipient?.id ?? "", ...(recipient?.name ? { name: recipient.name } : {}) },
    user: {
      id: from?.id ?? "",
      ...(from?.name ? { name: from.name } : {}),
      aadObjectId: route.owner,
    },
    ...defined({ tenantId: route.tenantId }),
    ...(locale ? { locale } : {}),
  };
  return { owner: route.owner, agent: route.agent, context, seen: now, blocked: undefined };
}
