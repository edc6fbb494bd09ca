/**
 * The unit of the root daemon, fleetctl's only service that runs as root. It identifies the peer of
 * its socket and re-executes verbs through `fleetctl-exec`, nothing else. No I/O.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { Unit } from "core/text/unit_file.ts";
import { quoteAssignment } from "core/text/quote.ts";
import { escapeSpecifiers, printCommand } from "units/render/exec_line.ts";
import { daemonHardening } from "units/render/hardening.ts";
import { PROGRAM_PATH } from "units/render/mcp/service.ts";
import { NEVER_GIVE_UP, READY_LOG, RESTART_ALWAYS } from "units/render/roles/common_entries.ts";
import { DAEMON_UNIT } from "units/render/unit_name.ts";

/** Renders `fleetctl-daemon.service`. */
export function renderDaemon(paths: Paths): Unit {
  return {
    name: DAEMON_UNIT,
    sections: [
      {
        name: "Unit",
        entries: [
          { key: "Description", value: "fleetctl daemon: verbs as root, for known callers" },
          { key: "After", value: "network.target" },
          NEVER_GIVE_UP,
        ],
      },
      {
        name: "Service",
        entries: [
          { key: "Type", value: "exec" },
          READY_LOG,
          { key: "ExecStart", value: printCommand([paths.program("fleetctld")]) },
          ...RESTART_ALWAYS,
          { key: "Environment", value: quoteAssignment("FLEETCTL_ROOT", paths.root) },
          { key: "Environment", value: quoteAssignment("PATH", PROGRAM_PATH) },
          { key: "WorkingDirectory", value: escapeSpecifiers(paths.state) },
          {
            key: "KillMode",
            value: "mixed",
            why: "The daemon waits for running verbs before it ends",
          },
          { key: "TimeoutStopSec", value: "30" },
          ...daemonHardening(),
        ],
      },
      { name: "Install", entries: [{ key: "WantedBy", value: "multi-user.target" }] },
    ],
  };
}
