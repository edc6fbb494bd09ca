/**
 * The host's own dial unit, for jobs across hosts: one per host, including hosts without an agent.
 * It runs as its own user, which owns nothing and may request only the verbs of its jobs from the
 * root daemon. A compromised gateway therefore does not become root here
 * (docs/adr/0014-the-unit-of-a-host.md). No I/O.
 *
 * @module
 */

import type { HostName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { quoteAssignment } from "core/text/quote.ts";
import type { Unit } from "core/text/unit_file.ts";
import { HOST_USER } from "core/verbs/caller.ts";
import { escapeSpecifiers, printCommand } from "units/render/exec_line.ts";
import { roleHardening } from "units/render/hardening.ts";
import { NEVER_GIVE_UP, READY_LOG, RESTART_ALWAYS } from "units/render/roles/common_entries.ts";
import { DAEMON_UNIT, HOST_UNIT } from "units/render/unit_name.ts";

/** Input of the unit. */
export interface HostDialContext {
  readonly paths: Paths;
  readonly hostname: HostName;
  readonly registerUrl: string;
}

/** Renders `fleetctl-host.service`. */
export function renderHostDial({ paths, hostname, registerUrl }: HostDialContext): Unit {
  const variables: readonly (readonly [string, string])[] = [
    ["FLEETCTL_ROOT", paths.root],
    ["FLEETCTL_HOST", hostname],
    ["CHANNEL_WEBVIEW_GATEWAY_URL", registerUrl],
    ["DENO_DIR", paths.at("/var/cache/fleetctl/host")],
  ];
  return {
    name: HOST_UNIT,
    sections: [
      {
        name: "Unit",
        entries: [
          { key: "Description", value: `fleetctl dial unit of host ${hostname}` },
          { key: "Wants", value: "network-online.target" },
          { key: "After", value: `network-online.target ${DAEMON_UNIT}` },
          NEVER_GIVE_UP,
        ],
      },
      {
        name: "Service",
        entries: [
          { key: "Type", value: "exec" },
          READY_LOG,
          { key: "ExecStart", value: printCommand([paths.program("fleetctl-dial"), "--host"]) },
          { key: "User", value: HOST_USER },
          { key: "Group", value: HOST_USER },
          ...RESTART_ALWAYS,
          {
            key: "LoadCredential",
            value: `host-dial.key:${escapeSpecifiers(paths.hostDialKey)}`,
            why: "Only root can read the key; the manager gives this unit a copy",
          },
          ...variables.map(([name, value]) => ({
            key: "Environment",
            value: quoteAssignment(name, value),
          })),
          { key: "CacheDirectory", value: "fleetctl/host" },
          { key: "CacheDirectoryMode", value: "0700" },
          { key: "WorkingDirectory", value: "/" },
          { key: "TimeoutStopSec", value: "10" },
          ...roleHardening(),
        ],
      },
      { name: "Install", entries: [{ key: "WantedBy", value: "multi-user.target" }] },
    ],
  };
}
