/**
 * The interface of the embedded service manager for `fleetctl up`: the port, its events and its
 * options. The manager itself is in `units/manager/os/`. This file contains only types, so that
 * `cli/up/` can accept a manager as a parameter.
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
  /** It ended unexpectedly; `reason` states how. */
  | "failed"
  /** It ended without a stop request, as expected (a connection's server, a one-shot). */
  | "exited"
  /** It will be started again after `delayMs`. */
  | "restarting"
  /** It was stopped on request. */
  | "stopped"
  /** Its file is unusable; `details` names each key. */
  | "refused"
  /** A process of an earlier manager was ended. */
  | "leftover";

/** One event of a unit. */
export interface UnitEvent {
  readonly kind: UnitEventKind;
  readonly unit: string;
  readonly pid?: number;
  /** Text of `UnitStatus.reason`: `exit-code 1`, `signal SIGKILL`, `timeout`, `memory-limit …`. */
  readonly reason?: string;
  readonly delayMs?: number;
  /** Last lines of the unit's log, for `failed`. */
  readonly journal?: readonly string[];
  readonly details?: readonly string[];
}

/** An unusable unit file, with all its faults. */
export interface UnitFault {
  readonly unit: string;
  readonly details: readonly string[];
}

/** A process of an earlier manager that was still alive. */
export interface Leftover {
  readonly unit: string;
  readonly pid: number;
}

/** Result of the start of one enabled unit. */
export interface StartOutcome {
  readonly unit: string;
  /** Undefined when the unit is active. */
  readonly fault: Error | undefined;
}

/** The running manager; `stop`, `start` and the other inherited members work on single units. */
export interface EmbeddedManager extends ServiceManager {
  readonly name: "embedded";
  /** Processes that an earlier manager left behind and this one ended. */
  readonly leftovers: readonly Leftover[];
  enable(unit: string): Promise<void>;
  disable(unit: string): Promise<void>;
  /** Unusable unit files, as of the last reload. */
  faults(): readonly UnitFault[];
  /** Keys that the loaded units set and that need root, sorted. */
  relaxedKeys(): readonly string[];
  /** Starts all enabled units in order; one that fails does not delay the others. */
  startEnabled(): Promise<readonly StartOutcome[]>;
  /**
   * Stops everything in reverse order, removes the sockets and unlocks the root. Idempotent. A
   * SIGINT during the close calls `kill`.
   */
  close(): Promise<void>;
  /** Kills everything immediately; `close` then resolves as soon as all processes are gone. */
  kill(): void;
}
