/**
 * What `fleetctl up` sees of the embedded service manager: the port, its events and its options.
 * The manager itself is in `units/manager/os/`; this file is types only, so that `cli/up/` can take
 * one as a parameter.
 *
 * @module
 */

import type { ServiceManager } from "units/manager/service_manager.ts";

/** What happened to a unit. */
export type UnitEventKind =
  /** A service is being started, or a socket is about to listen. */
  | "starting"
  /** A service is ready, or a socket listens. */
  | "ready"
  /** It ended although it should not have; `reason` says how. */
  | "failed"
  /** It ended on its own and that was expected (a connection's server, a one-shot). */
  | "exited"
  /** It will be started again after `delayMs`. */
  | "restarting"
  /** It was stopped on request. */
  | "stopped"
  /** Its file is unusable; `details` names each key. */
  | "refused"
  /** A process of an earlier manager was ended. */
  | "leftover";

/** One line's worth of news about a unit. */
export interface UnitEvent {
  readonly kind: UnitEventKind;
  readonly unit: string;
  readonly pid?: number;
  /** Words of `UnitStatus.reason`: `exit-code 1`, `signal SIGKILL`, `timeout`, `memory-limit …`. */
  readonly reason?: string;
  readonly delayMs?: number;
  /** Last lines of the unit's log, for `failed`. */
  readonly journal?: readonly string[];
  readonly details?: readonly string[];
}

/** A unit file that cannot be used, with every fault of it. */
export interface UnitFault {
  readonly unit: string;
  readonly details: readonly string[];
}

/** A process of an earlier manager that was still alive. */
export interface Leftover {
  readonly unit: string;
  readonly pid: number;
}

/** How one enabled unit came up. */
export interface StartOutcome {
  readonly unit: string;
  /** Undefined when the unit is active. */
  readonly fault: Error | undefined;
}

/** The running manager; `stop`, `start` and the rest are those of every service manager. */
export interface EmbeddedManager extends ServiceManager {
  readonly name: "embedded";
  /** What an earlier manager left behind and this one ended. */
  readonly leftovers: readonly Leftover[];
  enable(unit: string): Promise<void>;
  disable(unit: string): Promise<void>;
  /** Unit files that cannot be used, as of the last reload. */
  faults(): readonly UnitFault[];
  /** Keys that the loaded units set and an ordinary user cannot have, sorted. */
  relaxedKeys(): readonly string[];
  /** Starts all that is enabled, in order; one that fails does not hold up the others. */
  startEnabled(): Promise<readonly StartOutcome[]>;
  /**
   * Stops everything in reverse order, removes the sockets and lets go of the root. Idempotent.
   * A SIGINT that comes meanwhile is `kill`.
   */
  close(): Promise<void>;
  /** Kills everything at once; `close` then resolves as soon as all of it is gone. */
  kill(): void;
}
