/**
 * Builds the team-chat gateway's role from the roles file, the ledger, the keys of the secret store
 * and the hosts of its cloud. Reads only the file of a private cloud.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { HostRoles } from "core/ledger/host_roles.ts";
import { renderTeamsAgents } from "core/ledger/maps.ts";
import type { HostMarkers } from "core/ledger/markers.ts";
import type { HostName, KeyName } from "core/names.ts";
import type { Files } from "core/ports/files.ts";
import { ok, type Result } from "core/result.ts";
import { refusal } from "core/errors.ts";
import { hostPortOf, knownCloud, parseCloud, reachableHosts } from "core/teamchat/cloud.ts";
import { fileOrigin } from "core/net/file_url.ts";
import type { TeamchatRole } from "units/reconcile/facts.ts";

/** Keys of the shared shard that the gateway gets. */
export const TEAMCHAT_KEYS = [
  "TEAMS_APP_ID",
  "TEAMS_APP_PASSWORD",
  "TEAMS_APP_PASSWORD_EXPIRES",
  "TEAMS_APP_TENANT_ID",
  "TEAMS_APP_ALIASES",
  "TEAMS_REGISTER_TOKEN",
  "TEAMS_CONVERSATIONS",
  "TEAMS_OFFLINE_TTL",
  "TEAMS_SENDS_PER_SECOND",
] as const;

/** Port of the gateway. */
export const TEAMCHAT_PORT = 3978;

/** Builds the role; undefined if this host does not run it. */
export async function teamchatRole(
  files: Pick<Files, "readText">,
  from: {
    readonly roles: HostRoles;
    readonly agents: readonly AgentRecord[];
    readonly markers: HostMarkers;
    readonly root: string;
    readonly secret: (key: KeyName) => string | undefined;
  },
): Promise<Result<TeamchatRole | undefined>> {
  const { roles: { teamchat }, agents, markers } = from;
  if (teamchat === undefined) return ok(undefined);
  const cloud = knownCloud(teamchat.cloud);
  const isFile = cloud === undefined;
  const text = isFile ? await files.readText(teamchat.cloud) : undefined;
  if (isFile && text === undefined) {
    return {
      ok: false,
      error: refusal(
        "cloud-file-invalid",
        `Cannot read the cloud file "${teamchat.cloud}": there is no such file, ` +
          "must be the name of a cloud or the path of a file",
      ),
    };
  }
  const parsed = cloud === undefined ? parseCloud(text ?? "", teamchat.cloud) : ok(cloud);
  if (!parsed.ok) return parsed;
  const given = TEAMCHAT_KEYS.flatMap((key) => {
    const value = from.secret(key as KeyName);
    return value === undefined ? [] : [[key, value] as const];
  });
  const marker = markers.teamsGateway;
  const isLocal = !given.some(([key]) => key === "TEAMS_APP_ID");
  const { fileHosts } = teamchat;
  const hosts = reachableHosts(
    [parsed.value],
    from.root !== "/" ? "either" : isLocal ? "local" : "cloud",
  );
  const ofFiles = (fileHosts ?? "").split(",").map(fileOrigin).filter((each) => each !== undefined)
    .map((origin) => hostPortOf(new URL(origin)));
  return ok({
    listen: teamchat.listen,
    registerListen: teamchat.registerListen,
    cloud: teamchat.cloud,
    cloudFile: isFile ? teamchat.cloud : undefined,
    hosts: { ...hosts, answers: [...new Set([...hosts.answers, ...ofFiles])] },
    agentsJson: renderTeamsAgents(agents).text,
    settings: {
      ...Object.fromEntries(given),
      ...defined({ TEAMS_REGISTER_NAMES: marker, TEAMS_FILE_HOSTS: fileHosts }),
    },
    dialKeys: new Map(
      agents.flatMap(({ name, dialKeys }) => dialKeys === undefined ? [] : [[name, dialKeys]]),
    ),
  });
}

/**
 * Returns the address where agents of this host register for team chat; undefined without a
 * gateway.
 */
export function teamchatUrl(of: {
  readonly roles: HostRoles;
  readonly marker: HostName | undefined;
  readonly hostname: HostName;
}): string | undefined {
  const { roles: { teamchat }, marker, hostname } = of;
  if (marker !== undefined && marker !== hostname) {
    return `ws://${marker}:${TEAMCHAT_PORT}/register`;
  }
  if (teamchat === undefined) return undefined;
  const colon = teamchat.registerListen.lastIndexOf(":");
  const host = teamchat.registerListen.slice(0, colon);
  const port = teamchat.registerListen.slice(colon + 1);
  const isWildcard = host === "0.0.0.0" || host === "[::]";
  return `ws://${isWildcard ? "127.0.0.1" : host}:${port}/register`;
}
