/**
 * The unit of the team-chat gateway: an own user, its state folder, its two listeners, the hosts of
 * its cloud. No I/O. Design: docs/architecture.md "Programs"; spec "Team-chat gateway".
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import { quoteAssignment } from "core/quote.ts";
import type { Unit } from "core/unit_file.ts";
import { escapeSpecifiers, printCommand } from "units/render/exec_line.ts";
import { roleHardening } from "units/render/hardening.ts";
import { NEVER_GIVE_UP, READY_LOG, RESTART_ALWAYS } from "units/render/roles/common_entries.ts";
import { TEAMCHAT_ENV, TEAMCHAT_USER } from "units/render/roles/teamchat_env.ts";
import { TEAMCHAT_UNIT } from "units/render/unit_name.ts";

/** Renders `fleetctl-teamchat.service`. */
export function renderTeamchat(paths: Paths): Unit {
  return {
    name: TEAMCHAT_UNIT,
    sections: [
      {
        name: "Unit",
        entries: [
          { key: "Description", value: "fleetctl team-chat gateway" },
          { key: "Wants", value: "network-online.target" },
          { key: "After", value: "network-online.target" },
          NEVER_GIVE_UP,
        ],
      },
      {
        name: "Service",
        entries: [
          { key: "Type", value: "exec" },
          READY_LOG,
          { key: "ExecStart", value: printCommand([paths.program("fleetctl-teamchat")]) },
          { key: "User", value: TEAMCHAT_USER },
          { key: "Group", value: TEAMCHAT_USER },
          ...RESTART_ALWAYS,
          { key: "EnvironmentFile", value: escapeSpecifiers(paths.env(TEAMCHAT_ENV)) },
          { key: "Environment", value: quoteAssignment("FLEETCTL_ROOT", paths.root) },
          {
            key: "Environment",
            value: quoteAssignment("DENO_DIR", paths.at("/var/cache/fleetctl/teamchat")),
          },
          { key: "StateDirectory", value: "fleetctl/teamchat" },
          { key: "StateDirectoryMode", value: "0700" },
          { key: "CacheDirectory", value: "fleetctl/teamchat" },
          { key: "CacheDirectoryMode", value: "0700" },
          { key: "WorkingDirectory", value: escapeSpecifiers(paths.role("teamchat")) },
          {
            key: "TimeoutStopSec",
            value: "20",
            why: "Requests to the platform that are under way are waited for",
          },
          { key: "LimitNOFILE", value: "65536", why: "A socket per agent" },
          ...roleHardening(),
        ],
      },
      { name: "Install", entries: [{ key: "WantedBy", value: "multi-user.target" }] },
    ],
  };
}
