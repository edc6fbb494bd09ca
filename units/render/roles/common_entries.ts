/**
 * Entries that the units of all roles share. Data only.
 *
 * @module
 */

import type { UnitEntry } from "core/text/unit_file.ts";

/** The embedded manager takes the log line `ready` for the start being done; systemd ignores it. */
export const READY_LOG: UnitEntry = { key: "X-FleetctlReady", value: "log" };

/** `[Unit]` of what must come back by itself, however long it cannot. */
export const NEVER_GIVE_UP: UnitEntry = {
  key: "StartLimitIntervalSec",
  value: "0",
  why: "A full disk or a network that is away may last; five starts in a row must not end it",
};

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
