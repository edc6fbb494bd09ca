/**
 * Routes an activity: to its owner's agent, to no agent, or back with a refusal. Pure. The route
 * `POST /api/messages` and `teams-gateway explain` share this decision. It applies to every type of
 * activity, including invokes and reactions.
 *
 * | Condition | Decision |
 * |---|---|
 * | channel is not the chat platform, or the key is not endorsed for it | 403 |
 * | token and body name different service URLs, or one that is not allowed | 403 |
 * | tenant absent, not the configured one, or named twice differently | 403 |
 * | conversation of a kind that is not enabled | ignored |
 * | sender without an object id, or not an owner | ignored and counted |
 * | message in a group or channel that does not mention the bot | ignored |
 * | otherwise | the owner's agent |
 *
 * @module
 */

import {
  type Activity,
  type ConversationType,
  conversationType,
  tenantOf,
} from "core/teamchat/activity.ts";
import { isMentioned } from "core/teamchat/message_text.ts";
import { checkServiceUrl, isSameServiceUrl, type ServiceHosts } from "core/teamchat/service_url.ts";
import { type AgentName, type ObjectId, parseObjectId } from "core/names.ts";

/** Channel id of the chat platform. */
export const PLATFORM_CHANNEL = "msteams";
const CLOUD_CHANNELS: ReadonlySet<string> = new Set([PLATFORM_CHANNEL]);
/** Further channel ids that the vendor's local test clients use. */
const LOCAL_CHANNELS: ReadonlySet<string> = new Set([PLATFORM_CHANNEL, "emulator", "test"]);

/** Claims of the verified token; absent in local mode. */
export interface TokenFacts {
  readonly serviceUrl: string | undefined;
  readonly endorsements: readonly string[];
}

/** The rules that an activity is checked against. */
export interface RouteRules {
  readonly agents: ReadonlyMap<ObjectId, AgentName>;
  /** Lowercase; undefined accepts any tenant, for a bot that serves several. */
  readonly tenantId: string | undefined;
  readonly hosts: ServiceHosts;
  readonly conversations: ReadonlySet<ConversationType>;
  readonly appId: string | undefined;
}

/** Why the answer is 403. */
export type RefuseReason =
  | "channel-foreign"
  | "key-not-endorsed"
  | "service-url-mismatch"
  | "service-url-unreadable"
  | "service-url-foreign"
  | "tenant-absent"
  | "tenant-foreign"
  | "tenant-disagrees";

/** Why an accepted activity is not delivered. */
export type IgnoreReason =
  | "conversation-not-enabled"
  | "sender-without-object-id"
  | "owner-unknown"
  | "not-mentioned";

/** The decision. */
export type RouteDecision =
  | { readonly kind: "refuse"; readonly reason: RefuseReason }
  | {
    readonly kind: "ignore";
    readonly reason: IgnoreReason;
    /** Address for a reply to the sender, for `owner-unknown`. */
    readonly base: string;
    readonly conversation: ConversationType | undefined;
  }
  | {
    readonly kind: "route";
    readonly owner: ObjectId;
    readonly agent: AgentName;
    /** Checked base URL for answers. */
    readonly base: string;
    readonly tenantId: string | undefined;
    readonly conversation: ConversationType;
  };

/**
 * The state of an activity's token. `undefined` is for local mode only. `verified` means that the
 * receiver has checked the token against the activity; the sender then makes all other decisions
 * again.
 */
export type TokenState = TokenFacts | "verified" | undefined;

/** Decides about one activity. */
export function decideRoute(
  activity: Activity,
  rules: RouteRules,
  token: TokenState,
): RouteDecision {
  const origin = checkOrigin(activity, rules, token);
  if (!origin.ok) return { kind: "refuse", reason: origin.reason };
  const { base, tenantId } = origin;
  const conversation = conversationType(activity);
  const ignore = (reason: IgnoreReason): RouteDecision => ({
    kind: "ignore",
    reason,
    base,
    conversation,
  });
  if (conversation === undefined || !rules.conversations.has(conversation)) {
    return ignore("conversation-not-enabled");
  }
  const owner = parseObjectId(activity.from?.aadObjectId ?? "");
  if (!owner.ok) return ignore("sender-without-object-id");
  const agent = rules.agents.get(owner.value);
  if (agent === undefined) return ignore("owner-unknown");
  const needsMention = conversation !== "personal" && activity.type === "message";
  if (needsMention && !isMentioned(activity, rules.appId)) return ignore("not-mentioned");
  return { kind: "route", owner: owner.value, agent, base, tenantId, conversation };
}

type Origin =
  | { readonly ok: true; readonly base: string; readonly tenantId: string | undefined }
  | { readonly ok: false; readonly reason: RefuseReason };

/** Checks that the token may speak for the activity's origin. */
function checkOrigin(
  activity: Activity,
  rules: RouteRules,
  token: TokenState,
): Origin {
  const refuse = (reason: RefuseReason): Origin => ({ ok: false, reason });
  const channels = rules.hosts.mode === "local" ? LOCAL_CHANNELS : CLOUD_CHANNELS;
  if (!channels.has(activity.channelId)) return refuse("channel-foreign");
  if (rules.hosts.mode === "cloud" && token !== "verified") {
    // Tokens of the bot's other channels have the same audience; only the endorsement differs.
    if (token?.endorsements.includes(PLATFORM_CHANNEL) !== true) return refuse("key-not-endorsed");
    const claim = token.serviceUrl;
    if (claim === undefined || !isSameServiceUrl(claim, activity.serviceUrl)) {
      return refuse("service-url-mismatch");
    }
  }
  const service = checkServiceUrl(activity.serviceUrl, rules.hosts);
  if (!service.ok) return refuse(service.why);
  const tenantId = tenantOf(activity);
  if (tenantId === "disagree") return refuse("tenant-disagrees");
  if (rules.tenantId !== undefined && tenantId !== rules.tenantId) {
    return refuse(tenantId === undefined ? "tenant-absent" : "tenant-foreign");
  }
  return { ok: true, base: service.base, tenantId };
}
