/**
 * `fleetctl teams-gateway remove`: removes the team-chat gateway from this host. Refused while
 * messages wait that were acknowledged to the platform, and while answers are in transit.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { type Options, parseRemoval, removeRole } from "cli/remove_role.ts";
import { countRows } from "cli/waiting_rows.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { Result } from "core/result.ts";
import { TEAMCHAT_RECEIVER_UNIT, TEAMCHAT_UNIT } from "units/render/unit_name.ts";

export type { Options } from "cli/remove_role.ts";
export const parseOptions = parseRemoval;

/** Removes the role, both receiver and sender. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { paths } = context;
  return removeRole(context, {
    section: "teamchat",
    command: "teams-gateway",
    noun: "the team-chat gateway",
    marker: "teams_gateway",
    units: [TEAMCHAT_RECEIVER_UNIT, TEAMCHAT_UNIT],
    state: [paths.role("teamchat"), paths.role("teamchat-receiver"), paths.teamsCloudFile],
    holds: "conversations, turns and settings",
    refusal: () => whatWaits(context, options),
  }, options);
}

async function whatWaits(
  context: VerbContext,
  { isDespiteWaiting }: Options,
): Promise<Refusal | undefined> {
  if (isDespiteWaiting) return undefined;
  const { paths } = context;
  const spooled = await countRows(context, paths.teamchatSpool, { table: "items", where: "true" });
  const turns = await countRows(context, `${paths.role("teamchat")}/teamchat.db`, {
    table: "turns",
    where: "state <> 'closed'",
  });
  if (spooled + turns === 0) return undefined;
  return refusal(
    "teams-turns-wait",
    `Cannot remove the team-chat gateway: ${spooled} activities and ${turns} turns wait there, ` +
      "must be none",
    {
      details: [
        "they continue when it is installed again; a turn ends unanswered when it is too old",
      ],
      hints: ["fleetctl teams-gateway doctor", "fleetctl teams-gateway remove --despite-waiting"],
    },
  );
}
