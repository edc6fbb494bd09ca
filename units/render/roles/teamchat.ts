/**
 * The unit of the team-chat gateway: an own user, its state folder, its two listeners, the hosts of
 * its cloud. No I/O. Design: docs/architecture.md "Programs"; spec "Team-chat gateway".
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { Unit } from "core/unit_file.ts";
import { renderNetworkRole } from "units/render/roles/network_role.ts";
import { TEAMCHAT_ENV, TEAMCHAT_USER } from "units/render/roles/teamchat_env.ts";
import { TEAMCHAT_UNIT } from "units/render/unit_name.ts";

/** Renders `fleetctl-teamchat.service`. */
export function renderTeamchat(paths: Paths): Unit {
  return renderNetworkRole(paths, {
    role: "teamchat",
    unit: TEAMCHAT_UNIT,
    description: "fleetctl team-chat gateway",
    user: TEAMCHAT_USER,
    env: TEAMCHAT_ENV,
    stopTimeout: {
      value: "20",
      why: "Requests to the platform that are under way are waited for",
    },
    socketsWhy: "A socket per agent",
  });
}
