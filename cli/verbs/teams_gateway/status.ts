/**
 * `fleetctl teams-gateway status`: the unit, its mode, its listen addresses, and the agents of the
 * running gateway. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import {
  agentsOf,
  readTeamsState,
  runningAgents,
  type TeamsState,
} from "cli/teams_gateway/state.ts";
import { teamsProblems } from "cli/teams_gateway/problems.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { TEAMCHAT_RECEIVER_UNIT, TEAMCHAT_UNIT } from "units/render/unit_name.ts";

/** `fleetctl teams-gateway status` has no options. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: there are none. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** Collects and prints the state. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const teams = await readTeamsState(context);
  if (!teams.ok) return teams;
  const { roles, markers } = teams.value.gathered;
  const agents = agentsOf(teams.value.rendered?.get("TEAMS_AGENTS"));
  const problems = teamsProblems(teams.value, context.paths);
  const state = roles.teamchat === undefined
    ? "not installed"
    : teams.value.unit?.active ?? "unknown";
  return ok({
    json: {
      unit: TEAMCHAT_UNIT,
      state,
      receiver: teams.value.isReceiverSeparate
        ? { unit: TEAMCHAT_RECEIVER_UNIT, state: teams.value.receiver?.active ?? "unknown" }
        : null,
      marker: markers.teamsGateway ?? null,
      mode: modeOf(teams.value) ?? null,
      cloud: roles.teamchat?.cloud ?? null,
      listen: roles.teamchat?.listen ?? null,
      register_listen: roles.teamchat?.registerListen ?? null,
      agents: Object.fromEntries(agents),
      connected: runningAgents(teams.value)?.connected ?? null,
      problems: problems.map(({ code, message, hints }) => ({ code, message, hints })),
    },
    blocks: [
      { kind: "lines", lines: headLines(state, teams.value, agents.length) },
      {
        kind: "table",
        columns: ["owner", "agent"],
        rows: agents.map(([owner, agent]) => [owner, agent]),
        empty: "The gateway has no agents",
      },
    ],
    faults: problems,
  });
}

function headLines(state: string, teams: TeamsState, agents: number): readonly Cell[] {
  const { roles: { teamchat }, markers } = teams.gathered;
  const running = runningAgents(teams);
  return [
    unitLine(TEAMCHAT_UNIT, state),
    ...(teams.isReceiverSeparate
      ? [unitLine(TEAMCHAT_RECEIVER_UNIT, teams.receiver?.active ?? "unknown")]
      : []),
    ...(teamchat === undefined ? [] : [
      `messages  ${teamchat.listen}/api/messages, ${modeOf(teams)} mode, cloud ${teamchat.cloud}`,
      `register  ${teamchat.registerListen}/register`,
    ]),
    `agents    ${agents} in its settings` +
    (running?.connected === undefined ? "" : `, ${running.connected} connected`) +
    (running?.isWatched === false ? ", unchanged since its start" : ""),
    `marker    ${markers.teamsGateway ?? "none: this host is its own gateway"}`,
  ];
}

function unitLine(unit: string, state: string): Cell {
  return { text: `unit      ${unit} ${state}`, tone: state === "active" ? "good" : "bad" };
}

function modeOf({ rendered }: TeamsState): "cloud" | "local" | undefined {
  if (rendered === undefined) return undefined;
  return (rendered.get("TEAMS_APP_ID") ?? "") === "" ? "local" : "cloud";
}
