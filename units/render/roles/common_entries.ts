/**
 * Entries that the units of all roles share. Data only.
 *
 * @module
 */

import type { UnitEntry } from "core/text/unit_file.ts";

/** The embedded manager treats the log line `ready` as the end of startup; systemd ignores it. */
export const READY_LOG: UnitEntry = { key: "X-FleetctlReady", value: "log" };

/** `[Unit]` entries of a service that must keep restarting without a limit. */
export const NEVER_GIVE_UP: UnitEntry = {
  key: "StartLimitIntervalSec",
  value: "0",
  why: "A full disk or a lost network may last; five failed starts must not stop the unit for good",
};

/** A role restarts after any end, except when its settings are unusable (exit 2). */
export const RESTART_ALWAYS: readonly UnitEntry[] = [
  { key: "Restart", value: "always" },
  { key: "RestartSec", value: "1" },
  {
    key: "RestartPreventExitStatus",
    value: "2",
    why: "A restart does not fix unusable settings",
  },
];
