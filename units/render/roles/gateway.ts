/**
 * The unit of the webview gateway: an own user, its state folder, two listeners, nothing else.
 * No I/O. Design: docs/architecture.md "Programs"; spec "Dial-in listener".
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { Unit } from "core/unit_file.ts";
import { quoteAssignment } from "core/quote.ts";
import { GATEWAY_USER } from "core/verbs/caller.ts";
import { escapeSpecifiers, printCommand } from "units/render/exec_line.ts";
import { roleHardening } from "units/render/hardening.ts";
import { NEVER_GIVE_UP, READY_LOG, RESTART_ALWAYS } from "units/render/roles/common_entries.ts";
import { GATEWAY_ENV } from "units/render/roles/role_env.ts";
import { GATEWAY_UNIT } from "units/render/unit_name.ts";

/** Renders `fleetctl-gateway.service`. */
export function renderGateway(paths: Paths): Unit {
  return {
    name: GATEWAY_UNIT,
    sections: [
      {
        name: "Unit",
        entries: [
          { key: "Description", value: "fleetctl gateway: cockpit and dial-in router" },
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
          { key: "ExecStart", value: printCommand([paths.program("fleetctl-gateway")]) },
          { key: "User", value: GATEWAY_USER },
          { key: "Group", value: GATEWAY_USER },
          ...RESTART_ALWAYS,
          { key: "EnvironmentFile", value: escapeSpecifiers(paths.env(GATEWAY_ENV)) },
          { key: "Environment", value: quoteAssignment("FLEETCTL_ROOT", paths.root) },
          {
            key: "Environment",
            value: quoteAssignment("DENO_DIR", paths.at("/var/cache/fleetctl/gateway")),
          },
          { key: "StateDirectory", value: "fleetctl/gateway" },
          { key: "StateDirectoryMode", value: "0700" },
          { key: "CacheDirectory", value: "fleetctl/gateway" },
          { key: "CacheDirectoryMode", value: "0700" },
          { key: "WorkingDirectory", value: escapeSpecifiers(paths.role("gateway")) },
          { key: "TimeoutStopSec", value: "15" },
          { key: "LimitNOFILE", value: "65536", why: "A stream per tab and a socket per agent" },
          ...roleHardening(),
        ],
      },
      { name: "Install", entries: [{ key: "WantedBy", value: "multi-user.target" }] },
    ],
  };
}
