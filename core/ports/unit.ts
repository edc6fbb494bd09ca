/**
 * A unit as a service manager tells of it, and what can be done to many units at once. Types only.
 *
 * @module
 */

/** State of one unit, in the words of `systemctl show`. */
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

/** Enabling and disabling is known to the next boot at once, to the manager after a reload. */
export type UnitVerb = "start" | "stop" | "enable" | "disable";
