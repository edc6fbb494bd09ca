/**
 * An owner's actions on an answer besides writing: a rating with text, a reaction. Parsed from
 * activities, with size limits. Pure. Sources: Teams "Bot messages with AI-generated content"
 * (feedback: invoke `message/submitAction`), "Message reactions" (activity `messageReaction`).
 *
 * @module
 */

import { type Activity, conversationRoot } from "core/teamchat/activity.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";

/** An event that an agent gets about one of its messages. */
export type OwnerEvent =
  | {
    readonly kind: "feedback";
    readonly payload: { readonly reaction: "like" | "dislike"; readonly text?: string };
  }
  | {
    readonly kind: "reaction";
    readonly payload: { readonly added: readonly string[]; readonly removed: readonly string[] };
  };

/** An event and its message. */
export interface ParsedOwnerEvent {
  readonly event: OwnerEvent;
  readonly conversation: string;
  /** Id of the platform's message; undefined when the activity names none. */
  readonly message: string | undefined;
}

/** Parses an activity's event about a message of the bot; undefined when there is none. */
export function parseOwnerEvent(activity: Activity): ParsedOwnerEvent | undefined {
  const event = activity.type === "invoke"
    ? parseFeedback(activity)
    : activity.type === "messageReaction"
    ? parseReaction(activity)
    : undefined;
  if (event === undefined) return undefined;
  const conversation = conversationRoot(activity.conversation.id);
  return { event, conversation, message: activity.replyToId ?? undefined };
}

function parseFeedback({ name, value }: Activity): OwnerEvent | undefined {
  if (name !== "message/submitAction") return undefined;
  const { actionName, actionValue } = objectOf(value);
  if (actionName !== "feedback") return undefined;
  const { reaction, feedback } = objectOf(actionValue);
  if (reaction !== "like" && reaction !== "dislike") return undefined;
  const text = feedbackText(feedback);
  return { kind: "feedback", payload: { reaction, ...(text === "" ? {} : { text }) } };
}

/** The text comes as JSON in a string, `{"feedbackText":"…"}`, or as an object. */
function feedbackText(feedback: unknown): string {
  let value = feedback;
  if (typeof feedback === "string") {
    try {
      value = JSON.parse(feedback);
    } catch {
      return bounded(feedback);
    }
  }
  const { feedbackText: text } = objectOf(value);
  return typeof text === "string" ? bounded(text) : "";
}

function parseReaction({ reactionsAdded, reactionsRemoved }: Activity): OwnerEvent | undefined {
  const types = (reactions: Activity["reactionsAdded"]) =>
    [...new Set((reactions ?? []).map(({ type }) => type.replace(/[^\w .:+-]/g, "").slice(0, 64)))]
      .filter((type) => type !== "").slice(0, REACTIONS_MAX);
  const [added, removed] = [types(reactionsAdded), types(reactionsRemoved)];
  if (added.length + removed.length === 0) return undefined;
  return { kind: "reaction", payload: { added, removed } };
}
const REACTIONS_MAX = 16;

function bounded(text: string): string {
  return text.trim().slice(0, TEAMCHAT_LIMITS.feedbackLengthMax).toWellFormed();
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
}
