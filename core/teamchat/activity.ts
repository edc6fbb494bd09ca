/**
 * An activity that the chat platform posts (Bot Framework): strict, bounded parsing of the parts
 * that the gateway uses. It ignores all other parts. Pure. Source: Activity protocol schema ("Bot
 * Framework -- Activity"), Teams' own fields in `channelData`.
 *
 * @module
 */

import * as z from "zod";
import { refusal } from "core/errors.ts";
import { fingerprint } from "core/text/fingerprint.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { err, ok, type Result } from "core/result.ts";
import { isPathId } from "core/teamchat/path_id.ts";

const ID_LENGTH_MAX = 512;
const shortText = z.string().max(ID_LENGTH_MAX);
/** An unpaired surrogate would change when it is stored. */
const id = shortText.min(1).refine((text) => text.isWellFormed());

/** A participant of a conversation; `aadObjectId` is absent for bots and anonymous guests. */
const account = z.object({
  id,
  name: z.string().max(1_024).nullish(),
  aadObjectId: shortText.nullish(),
});

const attachment = z.object({
  contentType: shortText.nullish(),
  contentUrl: z.string().max(8_192).nullish(),
  name: z.string().max(1_024).nullish(),
  content: z.unknown().optional(),
});

const reaction = z.object({ type: shortText });

const activity = z.object({
  type: z.string().min(1).max(64),
  id: id.nullish(),
  timestamp: shortText.nullish(),
  locale: shortText.nullish(),
  channelId: z.string().max(64).default(""),
  serviceUrl: shortText,
  from: account.nullish(),
  recipient: account.nullish(),
  conversation: z.object({
    id: id.refine(isPathId),
    conversationType: z.string().max(64).nullish(),
    isGroup: z.boolean().nullish(),
    tenantId: shortText.nullish(),
  }),
  text: z.string().nullish(),
  textFormat: shortText.nullish(),
  replyToId: shortText.nullish(),
  name: shortText.nullish(),
  action: shortText.nullish(),
  value: z.unknown().optional(),
  entities: z.array(z.record(z.string(), z.unknown())).max(256).nullish(),
  attachments: z.array(attachment).max(64).nullish(),
  membersAdded: z.array(account).max(1_024).nullish(),
  membersRemoved: z.array(account).max(1_024).nullish(),
  reactionsAdded: z.array(reaction).max(64).nullish(),
  reactionsRemoved: z.array(reaction).max(64).nullish(),
  channelData: z.object({
    tenant: z.object({ id: shortText.nullish() }).nullish(),
    eventType: shortText.nullish(),
  }).nullish(),
});
/** One activity. */
export type Activity = z.infer<typeof activity>;
/** An attachment of a message. */
export type Attachment = z.infer<typeof attachment>;

/** Parses a body; an error names the field and never repeats its value. */
export function parseActivity(text: string): Result<Activity> {
  if (isTooDeep(text)) return err(malformed("it is nested too deeply"));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return err(malformed("it is not JSON"));
  }
  const parsed = activity.safeParse(value);
  if (parsed.success) return ok(parsed.data);
  const issue = parsed.error.issues[0];
  const field = issue?.path.map(String).join(".") ?? "";
  return err(malformed(field === "" ? "it is not an object" : `"${field}" is invalid`));
}

function malformed(why: string) {
  return refusal(
    "activity-malformed",
    `Cannot accept the activity: ${why}, must be an activity of the Bot Framework`,
    {
      kind: "usage",
    },
  );
}

/** Tells whether brackets outside strings nest deeper than the limit. */
function isTooDeep(text: string): boolean {
  // Fast path: few brackets cannot nest deeply. Nearly every activity ends here.
  return hasMore(text, TEAMCHAT_LIMITS.jsonDepthMax) && isNestedTooDeep(text);
}

/** Tells whether there are more opening brackets than `max`. */
function hasMore(text: string, max: number): boolean {
  let count = 0;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++count > max) return true;
    }
  }
  return false;
}

function isNestedTooDeep(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > TEAMCHAT_LIMITS.jsonDepthMax) return true;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
  return false;
}
const BACKSLASH = 0x5c;
const QUOTE = 0x22;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Types whose id is the id of the message that they refer to. */
const REFERRING_TYPES: ReadonlySet<string> = new Set([
  "messageUpdate",
  "messageDelete",
  "messageReaction",
]);

/**
 * Returns the key that identifies a repeated delivery; undefined when there is none. Message ids
 * are times in milliseconds, so two users can share one. So the key also contains the conversation,
 * after the id, so that keys of one moment are stored together. Edits and deletes carry the id of
 * their message, so the key also contains their own time.
 */
export function deliveryKey(activity: Activity): string | undefined {
  const { type, channelId, conversation, timestamp } = activity;
  const id = activity.id ?? undefined;
  const isOwnId = !REFERRING_TYPES.has(type) && id !== undefined;
  if (!isOwnId && typeof timestamp === "string") {
    return [channelId, conversation.id, type, id ?? activity.name ?? "", timestamp].join("|");
  }
  return id === undefined ? undefined : ["m", id, channelId, conversation.id, type].join("|");
}

/**
 * Returns the key of an invoke that the platform may send again under a new id within a minute.
 * Built from the parts that stay the same: conversation, sender, card, name and value.
 */
export function invokeKey(activity: Activity): string {
  const { conversation, from, replyToId, name, value } = activity;
  const parts = [conversation.id, from?.id, replyToId, name].map((part) => part ?? "");
  const json = JSON.stringify(value) ?? "";
  // Values of button presses are short. A long one is replaced by its fingerprint, because the
  // database file would grow for it permanently.
  const shown = json.length <= VALUE_LENGTH_KEPT ? json : `${json.length}:${fingerprint(json)}`;
  return `invoke|${parts.join("|")}|${shown}`;
}
const VALUE_LENGTH_KEPT = 1_024;

/** The kind of a conversation. */
export type ConversationType = "personal" | "groupChat" | "channel";

/**
 * Returns the type of a conversation. Without a stated type it is personal, unless it is marked as
 * a group.
 */
export function conversationType(activity: Activity): ConversationType | undefined {
  const { conversationType: stated, isGroup } = activity.conversation;
  if (stated === undefined || stated === null || stated === "") {
    return isGroup === true ? "groupChat" : "personal";
  }
  return stated === "personal" || stated === "groupChat" || stated === "channel"
    ? stated
    : undefined;
}

/** Returns the conversation id without the thread id that channels append. */
export function conversationRoot(conversationId: string): string {
  return conversationId.replace(/;messageid=[^;]*$/, "");
}

/** Returns the tenant of an activity; "disagree" when it names two. */
export function tenantOf(activity: Activity): string | "disagree" | undefined {
  const inConversation = activity.conversation.tenantId?.toLowerCase();
  const inChannel = activity.channelData?.tenant?.id?.toLowerCase();
  if (inConversation !== undefined && inChannel !== undefined && inConversation !== inChannel) {
    return "disagree";
  }
  return inConversation ?? inChannel;
}
