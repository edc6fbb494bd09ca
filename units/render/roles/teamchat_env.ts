/**
 * Env file of the team-chat gateway (spec "Team-chat gateway configuration", decision 34). No I/O.
 *
 * @module
 */

import { printEnvFile } from "core/env_file.ts";
import type { Paths } from "core/paths.ts";
import type { RenderedFile } from "core/rendered_file.ts";
import { ok, type Result } from "core/result.ts";

/** User and group of the team-chat gateway. */
export const TEAMCHAT_USER = "fleetctl-teamchat";
/** Name of its env file. */
export const TEAMCHAT_ENV = "teams-gateway";
const HEADER = "# Rendered by fleetctl; changes are overwritten.\n";

/** What the env file is rendered from. */
export interface TeamchatSettings {
  readonly listen: string;
  readonly registerListen: string;
  readonly cloud: string;
  /** JSON object, object id of an owner to agent. */
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
    TEAMS_AGENTS: teamchat.agentsJson,
  }));
  if (!text.ok) return text;
  return ok({
    path: paths.env(TEAMCHAT_ENV),
    content: HEADER + text.value,
    mode: 0o640,
    owner: { user: "root", group: TEAMCHAT_USER },
    secret: true,
  });
}
