/**
 * The common unit of roles with listeners: its own user and its state folder. No I/O. See
 * docs/design.md#programs.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import { quoteAssignment } from "core/text/quote.ts";
import type { Unit, UnitEntry } from "core/text/unit_file.ts";
import { escapeSpecifiers, printCommand } from "units/render/exec_line.ts";
import { roleHardening } from "units/render/hardening.ts";
import { NEVER_GIVE_UP, READY_LOG, RESTART_ALWAYS } from "units/render/roles/common_entries.ts";

/** The differences between these roles. */
export interface NetworkRole {
  /** Name of the role in its program, its state folder and its cache folder. */
  readonly role: "gateway" | "login" | "teamchat" | "teamchat-receiver";
  readonly unit: string;
  readonly description: string;
  /** Account that it runs as; its group has the same name. */
  readonly user: string;
  /** File name of its settings in the env folder. */
  readonly env: string;
  /** Mode of its state folder, and why it differs from the usual one. */
  readonly stateMode?: Omit<UnitEntry, "key">;
  /** An additional group, and why the role is a member. */
  readonly group?: Omit<UnitEntry, "key">;
  /** fleetctl units that it starts after. */
  readonly after?: readonly string[];
  readonly stopTimeout: Omit<UnitEntry, "key">;
  /** Why it opens many sockets. */
  readonly socketsWhy: string;
}

/** Renders `fleetctl-<role>.service`. */
export function renderNetworkRole(paths: Paths, spec: NetworkRole): Unit {
  const { role, user } = spec;
  return {
    name: spec.unit,
    sections: [
      {
        name: "Unit",
        entries: [
          { key: "Description", value: spec.description },
          { key: "Wants", value: "network-online.target" },
          { key: "After", value: ["network-online.target", ...spec.after ?? []].join(" ") },
          NEVER_GIVE_UP,
        ],
      },
      {
        name: "Service",
        entries: [
          { key: "Type", value: "exec" },
          READY_LOG,
          { key: "ExecStart", value: printCommand([paths.program(`fleetctl-${role}`)]) },
          { key: "User", value: user },
          { key: "Group", value: user },
          ...(spec.group === undefined ? [] : [{ key: "SupplementaryGroups", ...spec.group }]),
          ...RESTART_ALWAYS,
          { key: "EnvironmentFile", value: escapeSpecifiers(paths.env(spec.env)) },
          { key: "Environment", value: quoteAssignment("FLEETCTL_ROOT", paths.root) },
          {
            key: "Environment",
            value: quoteAssignment("DENO_DIR", paths.at(`/var/cache/fleetctl/${role}`)),
          },
          { key: "StateDirectory", value: `fleetctl/${role}` },
          { key: "StateDirectoryMode", ...spec.stateMode ?? { value: "0700" } },
          { key: "CacheDirectory", value: `fleetctl/${role}` },
          { key: "CacheDirectoryMode", value: "0700" },
          { key: "WorkingDirectory", value: escapeSpecifiers(paths.role(role)) },
          { key: "TimeoutStopSec", ...spec.stopTimeout },
          { key: "LimitNOFILE", value: "65536", why: spec.socketsWhy },
          ...roleHardening(),
        ],
      },
      { name: "Install", entries: [{ key: "WantedBy", value: "multi-user.target" }] },
    ],
  };
}
