/**
 * The port of a service manager, and the fault that it throws.
 *
 * @module
 */

import type { UnitStatus, UnitVerb } from "core/ports/unit.ts";

/**
 * The service manager: systemd, or the embedded one of `fleetctl up`. Unit names carry
 * their suffix.
 */
export interface ServiceManager {
  readonly name: "systemd" | "embedded";
  /** Whether a manager is available. Without one, files are written and no unit is started. */
  isRunning(): Promise<boolean>;
  reload(): Promise<void>;
  /**
   * Resolves when the unit is active (for a service: ready); rejects with `ServiceFault` otherwise.
   */
  start(unit: string): Promise<void>;
  stop(unit: string): Promise<void>;
  restart(unit: string): Promise<void>;
  /** For units that do not depend on one another; returns the fault of each unit that failed. */
  each(verb: UnitVerb, units: readonly string[]): Promise<readonly ServiceFault[]>;
  status(units: readonly string[]): Promise<readonly UnitStatus[]>;
  /** Whether an active service is ready. Absent where a service is active only once it is ready. */
  isReady?(unit: string): Promise<boolean>;
  /** Number of unix sockets of the host that listen on each path; undefined where unknown. */
  listeners?(): Promise<ReadonlyMap<string, number> | undefined>;
  /** The last lines of the unit's log, oldest first. */
  journal(unit: string, lines: number): Promise<readonly string[]>;
}

/** Thrown by `ServiceManager`: the unit, what happened, and the end of its log. */
export class ServiceFault extends Error {
  override readonly name = "ServiceFault";
  constructor(readonly unit: string, message: string, readonly journal: readonly string[] = []) {
    super(message);
  }
}
