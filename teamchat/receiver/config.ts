/**
 * Settings of the receiver: the gateway's settings that are needed to verify tokens and to route
 * an activity to an agent. It has no client secret and knows no agent's address.
 *
 * @module
 */

import type { AgentName, ObjectId } from "core/names.ts";
import { isLoopbackName } from "core/net/host_name.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { ListenAddress } from "core/ports/sockets.ts";
import { ok, type Result } from "core/result.ts";
import { type Env, readSettings } from "core/settings/settings.ts";
import type { ConversationType } from "core/teamchat/activity.ts";
import type { Cloud } from "core/teamchat/cloud.ts";
import { invalid, readCloud, TEAMCHAT_SETTINGS } from "teamchat/config.ts";

/** The declared table; also the help of the program. */
export const RECEIVER_SETTINGS = {
  root: TEAMCHAT_SETTINGS.root,
  appId: TEAMCHAT_SETTINGS.appId,
  tenantId: TEAMCHAT_SETTINGS.tenantId,
  aliases: TEAMCHAT_SETTINGS.aliases,
  agents: TEAMCHAT_SETTINGS.agents,
  cloud: TEAMCHAT_SETTINGS.cloud,
  conversations: TEAMCHAT_SETTINGS.conversations,
  listen: TEAMCHAT_SETTINGS.listen,
} as const;

/** Settings of the receiver. */
export interface ReceiverConfig {
  readonly paths: Paths;
  /** How to verify tokens; undefined in local mode. */
  readonly cloud:
    | {
      readonly cloud: Cloud;
      readonly appId: string;
      readonly tenantId: string | undefined;
      readonly audiences: ReadonlySet<string>;
    }
    | undefined;
  readonly agents: ReadonlyMap<ObjectId, AgentName>;
  /** The file with the owners, which is watched for changes; undefined when there is none. */
  readonly agentsFile: string | undefined;
  readonly conversations: ReadonlySet<ConversationType>;
  readonly listen: ListenAddress;
  readonly warnings: readonly string[];
}

/**
 * Reads the settings. The details of the refusal list all faults of single settings or, if there
 * are none, the fault of their combination.
 */
export function readReceiverConfig(
  env: Env,
  inputs: { readonly cloudFile: string | undefined; readonly agentsFile?: string | undefined },
): Result<ReceiverConfig> {
  const read = readSettings(RECEIVER_SETTINGS, env);
  const cloud = readCloud(env, inputs);
  const faults = [...(read.ok ? [] : read.error.details), ...(cloud.ok ? [] : cloud.error)];
  if (!read.ok || !cloud.ok) return invalid(faults);
  const { root, appId, tenantId, aliases, agents, conversations, listen } = read.value;
  if (appId === undefined && !isLoopbackName(listen.hostname)) {
    return invalid([
      `TEAMS_LISTEN: value is "${listen.hostname}:${listen.port}", must be loopback when ` +
      "TEAMS_APP_ID is not set: local mode checks no token",
    ]);
  }
  return ok({
    paths: pathsUnder(root),
    cloud: appId === undefined
      ? undefined
      : { cloud: cloud.value, appId, tenantId, audiences: new Set([appId, ...aliases]) },
    agents,
    agentsFile: inputs.agentsFile,
    conversations: new Set(conversations),
    listen,
    warnings: appId === undefined
      ? ["local mode: no token is checked, so only programs of this machine are answered"]
      : [],
  });
}
