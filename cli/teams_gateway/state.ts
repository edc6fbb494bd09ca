/**
 * Collects what `teams-gateway status` and `teams-gateway doctor` need: roles, ledger, rendered
 * settings, unit, and the health of the running gateway. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Gathered } from "cli/facts.ts";
import { keysInHomes } from "cli/first_keys.ts";
import { readFacts } from "cli/planner.ts";
import { ANSWER_LIMITS } from "core/limits/http.ts";
import { readJson } from "core/net/bounded_body.ts";
import { parseEnvFile } from "core/text/env_file.ts";
import { renderTeamsAgents } from "core/ledger/maps.ts";
import type { AgentName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import { withSettingFile } from "core/settings/setting_files.ts";
import { isReceiverSeparate } from "core/teamchat/separate_receiver.ts";
import { withinTime } from "core/concurrency/time_limit.ts";
import { isRecord } from "core/text/json_object.ts";
import { TEAMCHAT_ENV } from "units/render/roles/teamchat_env.ts";
import { TEAMCHAT_RECEIVER_UNIT, TEAMCHAT_UNIT } from "units/render/unit_name.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** The state that both verbs report on. */
export interface TeamsState {
  readonly gathered: Gathered;
  readonly unit: UnitStatus | undefined;
  /** The receiver's unit; undefined when no service manager reports it. */
  readonly receiver: UnitStatus | undefined;
  readonly isReceiverSeparate: boolean;
  /** Whether the receiver's spool file exists. The receiver deletes an empty one when it stops. */
  readonly hasSpool: boolean;
  /** The gateway's rendered settings; undefined when there are none. */
  readonly rendered: ReadonlyMap<string, string> | undefined;
  /** The value that `TEAMS_AGENTS` should have. */
  readonly wanted: ReturnType<typeof renderTeamsAgents>;
  /** Public dial keys from the homes of this host's agents whose channel is `teamchat`. */
  readonly homeKeys: ReadonlyMap<AgentName, string>;
  /** `/healthz` of the running gateway; undefined when it does not answer. */
  readonly health: Readonly<Record<string, unknown>> | undefined;
}

/** Collects the state. Fails only when the facts are unreadable, not when a program is down. */
export async function readTeamsState(context: VerbContext): Promise<Result<TeamsState>> {
  const { ports, paths } = context;
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const services = ports.services(paths);
  const units = await services.isRunning()
    ? await services.status([TEAMCHAT_UNIT, TEAMCHAT_RECEIVER_UNIT])
    : [];
  const unitOf = (name: string) => units.find(({ unit }) => unit === name);
  const text = await ports.files.readText(paths.env(TEAMCHAT_ENV));
  const parsed = text === undefined ? undefined : parseEnvFile(text);
  const { teamchat } = gathered.value.roles;
  return ok({
    gathered: gathered.value,
    unit: unitOf(TEAMCHAT_UNIT),
    receiver: unitOf(TEAMCHAT_RECEIVER_UNIT),
    isReceiverSeparate: teamchat !== undefined && isReceiverSeparate(teamchat),
    hasSpool: await ports.files.stat(paths.teamchatSpool) !== undefined,
    rendered: parsed?.ok
      ? await withSettingFile(parsed.value, "TEAMS_AGENTS", ports.files)
      : undefined,
    wanted: renderTeamsAgents(gathered.value.ledger.agents.values()),
    homeKeys: await homeKeysOf(context, gathered.value),
    health: teamchat === undefined ? undefined : await healthAt(context, teamchat.listen),
  });
}

async function homeKeysOf(
  context: VerbContext,
  { facts }: Gathered,
): Promise<ReadonlyMap<AgentName, string>> {
  const agents = facts.agents.filter(({ channel }) => channel === "teamchat");
  return await keysInHomes(context, agents.map(({ name }) => name));
}

/** Longest wait for an answer on this machine. */
const HEALTH_MS_MAX = 2_000;

/**
 * Requests the health of the gateway at an address of this machine. Returns undefined when it does
 * not answer in time.
 */
export async function healthAt(
  { ports }: VerbContext,
  listen: string,
  timeoutMs = HEALTH_MS_MAX,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const at = listen.replace(/^0\.0\.0\.0:/, "127.0.0.1:").replace(/^\[::\]:/, "[::1]:");
    return await withinTime(ports.clock, timeoutMs, async (signal) => {
      const response = await ports.http.fetch(`http://${at}/healthz`, {
        signal,
        redirect: "error",
      });
      const body = await readJson(response.body, ANSWER_LIMITS.bytesMax);
      return response.status === 200 && body.ok && isRecord(body.value) ? body.value : undefined;
    });
  } catch {
    return undefined;
  }
}

/** Returns each owner object id of `TEAMS_AGENTS` with its agent; none for an unreadable text. */
export function agentsOf(text: string | undefined): readonly (readonly [string, string])[] {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value).map(([owner, agent]) => [owner, String(agent)] as const)
      : [];
  } catch {
    return [];
  }
}

/** The agents that the running gateway uses. */
export interface RunningAgents {
  readonly connected: number | undefined;
  /** Whether it watches the file of its agents; undefined when an older version runs. */
  readonly isWatched: boolean | undefined;
  readonly digest: string | undefined;
}

/** Reads the agents from the gateway's health; undefined when the health does not list them. */
export function runningAgents({ health }: Pick<TeamsState, "health">): RunningAgents | undefined {
  const agents = health?.agents as Readonly<Record<string, unknown>> | undefined;
  if (typeof agents !== "object" || agents === null) return undefined;
  const { connected, watched, digest } = agents;
  return {
    connected: typeof connected === "number" ? connected : undefined,
    isWatched: typeof watched === "boolean" ? watched : undefined,
    digest: typeof digest === "string" ? digest : undefined,
  };
}
