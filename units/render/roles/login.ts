/**
 * The unit of the login proxy: an own user, its state folder, one listener, the cockpit. No I/O.
 * Design: docs/architecture.md "Programs"; spec "Login proxy routes".
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import { quoteAssignment } from "core/quote.ts";
import type { Unit } from "core/unit_file.ts";
import { escapeSpecifiers, printCommand } from "units/render/exec_line.ts";
import { roleHardening } from "units/render/hardening.ts";
import { NEVER_GIVE_UP, READY_LOG, RESTART_ALWAYS } from "units/render/roles/common_entries.ts";
import { LOGIN_ENV, LOGIN_USER } from "units/render/roles/login_env.ts";
import { GATEWAY_UNIT, LOGIN_UNIT } from "units/render/unit_name.ts";

/** Renders `fleetctl-login.service`. */
export function renderLogin(paths: Paths): Unit {
  return {
    name: LOGIN_UNIT,
    sections: [
      {
        name: "Unit",
        entries: [
          { key: "Description", value: "fleetctl login proxy in front of the cockpit" },
          { key: "Wants", value: "network-online.target" },
          { key: "After", value: `network-online.target ${GATEWAY_UNIT}` },
          NEVER_GIVE_UP,
        ],
      },
      {
        name: "Service",
        entries: [
          { key: "Type", value: "exec" },
          READY_LOG,
          { key: "ExecStart", value: printCommand([paths.program("fleetctl-login")]) },
          { key: "User", value: LOGIN_USER },
          { key: "Group", value: LOGIN_USER },
          ...RESTART_ALWAYS,
          { key: "EnvironmentFile", value: escapeSpecifiers(paths.env(LOGIN_ENV)) },
          { key: "Environment", value: quoteAssignment("FLEETCTL_ROOT", paths.root) },
          {
            key: "Environment",
            value: quoteAssignment("DENO_DIR", paths.at("/var/cache/fleetctl/login")),
          },
          { key: "StateDirectory", value: "fleetctl/login" },
          { key: "StateDirectoryMode", value: "0700" },
          { key: "CacheDirectory", value: "fleetctl/login" },
          { key: "CacheDirectoryMode", value: "0700" },
          { key: "WorkingDirectory", value: escapeSpecifiers(paths.role("login")) },
          { key: "TimeoutStopSec", value: "15" },
          { key: "LimitNOFILE", value: "65536", why: "Two sockets per open stream" },
          ...roleHardening(),
        ],
      },
      { name: "Install", entries: [{ key: "WantedBy", value: "multi-user.target" }] },
    ],
  };
}
