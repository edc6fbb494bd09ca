/**
 * `fleetctl teams-gateway explain <activity.json>`: shows what the gateway would do with an
 * activity, and why. Uses the gateway's own decision. Sends nothing and queries no service. It
 * assumes a valid token that belongs to the activity.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { agentsOf, readTeamsState } from "cli/teams_gateway/state.ts";
import { refusal } from "core/errors.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { AgentName, ObjectId } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { type ConversationType, deliveryKey, parseActivity } from "core/teamchat/activity.ts";
import { knownCloud, parseCloud } from "core/teamchat/cloud.ts";
import { messageText } from "core/teamchat/message_text.ts";
import { decideRoute, PLATFORM_CHANNEL, type RouteDecision } from "core/teamchat/route.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The file to explain. */
export interface Options {
  readonly file: string;
}

/** Parses the argument. */
export function parseOptions({ args }: Invocation): Result<Options> {
  return ok({ file: args.activity ?? "" });
}

/** Explains one activity. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports } = context;
  const path = options.file.startsWith("/") ? options.file : `${context.cwd}/${options.file}`;
  const stat = await ports.files.stat(path);
  const size = stat?.size ?? 0;
  const isFile = stat === undefined || stat.kind === "file" || stat.kind === "symlink";
  if (!isFile || size > TEAMCHAT_LIMITS.bodyBytesMax) {
    return err(refusal(
      "activity-file-invalid",
      `Cannot explain "${options.file}": it is ${
        isFile ? `${size} bytes long` : "not a file"
      }, must ` +
        `be a file of at most ${TEAMCHAT_LIMITS.bodyBytesMax} bytes`,
      {
        kind: "usage",
        details: isFile ? ["the gateway answers a longer body with 413 and does not read it"] : [],
      },
    ));
  }
  const text = await ports.files.readText(path);
  if (text === undefined) {
    return err(refusal(
      "activity-file-absent",
      `Cannot explain "${options.file}": there is no such file`,
      { kind: "usage" },
    ));
  }
  const activity = parseActivity(text);
  if (!activity.ok) return activity;
  const state = await readTeamsState(context);
  if (!state.ok) return state;
  const setting = (name: string) => state.value.rendered?.get(name) || undefined;
  const appId = setting("TEAMS_APP_ID");
  const cloudName = setting("TEAMS_CLOUD") ?? "public";
  const cloudText = await ports.files.readText(cloudName).catch(() => undefined);
  const known = knownCloud(cloudName);
  const cloud = known === undefined ? parseCloud(cloudText ?? "", cloudName) : ok(known);
  if (!cloud.ok) return cloud;
  const decision = decideRoute(activity.value, {
    agents: new Map(
      agentsOf(state.value.rendered?.get("TEAMS_AGENTS") ?? state.value.wanted.text)
        .map(([owner, agent]) => [owner as ObjectId, agent as AgentName]),
    ),
    tenantId: setting("TEAMS_APP_TENANT_ID")?.toLowerCase(),
    hosts: appId === undefined
      ? { mode: "local" }
      : { mode: "cloud", origins: cloud.value.serviceOrigins },
    conversations: new Set(
      (setting("TEAMS_CONVERSATIONS") ?? "personal").split(",") as ConversationType[],
    ),
    appId,
  }, { serviceUrl: activity.value.serviceUrl, endorsements: [PLATFORM_CHANNEL] });
  const key = deliveryKey(activity.value) ?? "none: a repetition cannot be recognized";
  const messageBody = messageText(activity.value, appId);
  const lines = [
    `${activity.value.type}: ${WORDS[decision.kind](decision)}`,
    `delivery key: ${key}`,
    ...(decision.kind === "route" && activity.value.type === "message"
      ? [
        `the agent would read: ${
          messageBody === "" ? "nothing, so there is no turn" : messageBody
        }`,
      ]
      : []),
    "the token of this activity is assumed to be valid",
  ];
  const { base: _base, ...shown } = { base: "", ...decision };
  return ok(linesReport({ ...shown, delivery_key: key }, lines));
}

const WORDS: {
  readonly [Kind in RouteDecision["kind"]]: (decision: RouteDecision) => string;
} = {
  refuse: (decision) => `refused with 403, ${reasonOf(decision)}`,
  ignore: (decision) => `accepted with 202 and ignored, ${reasonOf(decision)}`,
  route: (decision) =>
    decision.kind === "route" ? `goes to agent "${decision.agent}" of ${decision.owner}` : "",
};

function reasonOf(decision: RouteDecision): string {
  return decision.kind === "route" ? "" : REASONS[decision.reason];
}

const REASONS: Readonly<
  Record<Exclude<RouteDecision, { kind: "route" }>["reason"], string>
> = {
  "channel-foreign": `its channel is not ${PLATFORM_CHANNEL}`,
  "key-not-endorsed": "its key is not endorsed for the channel",
  "service-url-mismatch": "token and activity name different service URLs",
  "service-url-unreadable": "its service URL is not a plain URL",
  "service-url-foreign": "its service URL is not one of the cloud's hosts",
  "tenant-absent": "it names no tenant",
  "tenant-foreign": "its tenant is not TEAMS_APP_TENANT_ID",
  "tenant-disagrees": "it names two different tenants",
  "conversation-not-enabled": "its kind of conversation is not in TEAMS_CONVERSATIONS",
  "sender-without-object-id": "its sender has no object id",
  "owner-unknown": "its sender owns no agent of channel teamchat (TEAMS_AGENTS)",
  "not-mentioned": "it is in a group and does not mention the bot",
};
