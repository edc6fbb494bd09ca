/**
 * Env files of the team-chat gateway. No I/O.
 *
 * @module
 */

import { type RenderedFile, ROOT_OWNER } from "core/files/rendered_file.ts";
import type { Paths } from "core/paths.ts";
import { ok, type Result } from "core/result.ts";
import { isReceiverSeparate } from "core/teamchat/separate_receiver.ts";
import { printEnvFile } from "core/text/env_file.ts";

/** User and group of the team-chat gateway. */
export const TEAMCHAT_USER = "fleetctl-teamchat";
/** User and group of its receiver. */
export const RECEIVER_USER = "fleetctl-teamchat-receiver";
/** Names of the gateway's env files. */
export const TEAMCHAT_ENV = "teams-gateway";
export const RECEIVER_ENV = "teams-receiver";
const HEADER = "# Rendered by fleetctl; changes are overwritten.\n";

/** Input of the env file. */
export interface TeamchatSettings {
  readonly listen: string;
  readonly registerListen: string;
  readonly cloud: string;
  /** JSON object that maps an owner's object id to an agent. */
  readonly agentsJson: string;
  /** The `TEAMS_…` keys of the secret store, and other settings. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Renders `teams-gateway.env`, 0640 for the gateway's group. */
export function renderTeamchatEnv(
  teamchat: TeamchatSettings,
  paths: Paths,
): Result<RenderedFile> {
  const text = printEnvFile(Object.entries({
    ...teamchat.settings,
    TEAMS_LISTEN: teamchat.listen,
    TEAMS_REGISTER_LISTEN: teamchat.registerListen,
    TEAMS_CLOUD: teamchat.cloud,
    TEAMS_AGENTS: paths.teamsAgents,
    ...(isReceiverSeparate(teamchat) ? { TEAMS_RECEIVER: "apart" } : {}),
  }));
  return text.ok ? ok(envFile(TEAMCHAT_ENV, TEAMCHAT_USER, text.value, paths)) : text;
}

/** Settings that receiver and sender share; none is a secret. */
const RECEIVER_KEYS = [
  "TEAMS_APP_ID",
  "TEAMS_APP_TENANT_ID",
  "TEAMS_APP_ALIASES",
  "TEAMS_CONVERSATIONS",
];

/** Renders `teams-receiver.env`, 0640 for the receiver's group. */
export function renderReceiverEnv(
  teamchat: TeamchatSettings,
  paths: Paths,
): Result<RenderedFile> {
  const { settings } = teamchat;
  const text = printEnvFile(Object.entries({
    ...Object.fromEntries(Object.entries(settings).filter(([key]) => RECEIVER_KEYS.includes(key))),
    TEAMS_LISTEN: teamchat.listen,
    TEAMS_CLOUD: teamchat.cloud,
    TEAMS_AGENTS: paths.teamsAgents,
  }));
  return text.ok ? ok(envFile(RECEIVER_ENV, RECEIVER_USER, text.value, paths)) : text;
}

/**
 * Returns the file of `TEAMS_AGENTS`. Receiver and sender watch it, so that a new or removed owner
 * needs no restart. It contains no secret.
 */
export function agentsFile(
  { agentsJson }: Pick<TeamchatSettings, "agentsJson">,
  paths: Paths,
): RenderedFile {
  return {
    path: paths.teamsAgents,
    mode: 0o644,
    owner: ROOT_OWNER,
    secret: false,
    content: `${agentsJson}\n`,
  };
}

function envFile(name: string, group: string, text: string, paths: Paths): RenderedFile {
  return {
    path: paths.env(name),
    content: HEADER + text,
    mode: 0o640,
    owner: { user: "root", group },
    secret: true,
  };
}
