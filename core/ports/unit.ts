/**
 * A unit as the service manager reports it, and the operations on many units at once. Types only.
 *
 * @module
 */

/** State of one unit, in the terms of `systemctl show`. */
export interface UnitStatus {
  readonly unit: string;
  readonly load: "loaded" | "not-found";
  readonly active: "active" | "activating" | "deactivating" | "inactive" | "failed";
  readonly mainPid: number | undefined;
  /** Milliseconds since the epoch. */
  readonly since: number | undefined;
  /** `exit-code 1`, `signal SIGKILL`, … when the last run failed. */
  readonly reason: string | undefined;
  readonly restarts: number;
}

/** Enable and disable take effect for the next boot at once, and for the manager after a reload. */
export type UnitVerb = "start" | "stop" | "enable" | "disable";
