/**
 * Entries that the units of all roles share. Data only.
 *
 * @module
 */

import type { UnitEntry } from "core/unit_file.ts";

/** The embedded manager takes the log line `ready` for the start being done; systemd ignores it. */
export const READY_LOG: UnitEntry = { key: "X-FleetctlReady", value: "log" };

/** A role comes back whatever ended it, except when its settings are unusable (exit 2). */
export const RESTART_ALWAYS: readonly UnitEntry[] = [
  { key: "Restart", value: "always" },
  { key: "RestartSec", value: "1" },
  {
    key: "RestartPreventExitStatus",
    value: "2",
    why: "Unusable settings do not mend themselves",
  },
];
