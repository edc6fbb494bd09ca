/**
 * The ports of a reconcile, and its progress events. Types only.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import type { AgentName } from "core/names.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Users } from "core/ports/users.ts";
import type { Result } from "core/result.ts";
import type { ServiceManager } from "units/manager/service_manager.ts";
import type { Homes } from "units/reconcile/home_files.ts";

/** Updates the vendored tree of a catalog entry to the version that its manifest pins. */
export interface Vendor {
  ensure(manifest: Manifest): Promise<Result<{ readonly changed: boolean }>>;
}

/** Asks dial units to let themselves be replaced. */
export interface DialUnits {
  /**
   * Returns whether the agent has no turn; its dial unit then starts none for a minute, or for
   * seconds with `isBrief`. A busy one starts no further turn for that time. With `isDue` it tells
   * the owner of a running turn. A unit that does not answer counts as busy. The answer is the
   * agent's, so it may only delay.
   */
  isIdle(
    agent: AgentName,
    of: { readonly isDue: boolean; readonly isBrief: boolean },
  ): Promise<boolean>;
}

/** Ports of a reconcile. */
export interface ReconcilePorts {
  readonly clock: Pick<Clock, "after" | "monotonic" | "now">;
  readonly dials: DialUnits;
  readonly files: Files;
  readonly users: Users;
  /**
   * Opens the homes of agents. They are used only when the host's root is `/` and the verb runs as
   * root. `homeMsMax` limits the total time of each home.
   */
  openHomes(homeMsMax: number): Homes;
  readonly services: ServiceManager;
  readonly vendor: Vendor;
}

/** The start or the end of one action, for progress lines. */
export interface StepProgress {
  /** `bounce` ends the servers of a socket; the next call starts them with new code or keys. */
  readonly kind:
    | "vendor"
    | "write"
    | "remove"
    | "start"
    | "restart"
    | "replace"
    | "bounce"
    | "stop"
    | "reload"
    | "other";
  /** Path, unit or MCP. */
  readonly subject: string;
  readonly state: "begin" | "done" | "failed";
  /** Counts from 0; vendoring and later steps are counted separately. */
  readonly index: number;
  readonly total: number;
}
