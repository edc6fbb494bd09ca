/**
 * The steps of a plan. Each is idempotent: a second execution leaves the same state. No I/O.
 *
 * @module
 */

import type { AgentName } from "core/names.ts";
import type { StepProgress } from "units/reconcile/ports.ts";
import type { OwnerIds } from "core/files/rendered_file.ts";
import type { RenderRecord } from "units/reconcile/record.ts";

/** One step. */
export type Step =
  /**
   * Records future ownership before the files are written, so that a crash loses track of no file.
   */
  | { readonly kind: "record"; readonly record: RenderRecord }
  | {
    readonly kind: "folder";
    readonly path: string;
    readonly mode: number;
    readonly owner: OwnerIds | undefined;
    readonly home?: AgentName;
  }
  | {
    readonly kind: "write";
    readonly path: string;
    readonly text: string;
    readonly mode: number;
    readonly owner: OwnerIds | undefined;
  }
  | {
    readonly kind: "client";
    readonly path: string;
    readonly text: string;
    readonly mode: number;
    readonly agent: AgentName;
  }
  | { readonly kind: "remove"; readonly path: string }
  | { readonly kind: "reload" }
  | {
    readonly kind: "stop" | "disable" | "enable" | "start" | "restart" | "bounce";
    readonly unit: string;
    /** May run in parallel with neighbours of its kind: dial units do not depend on each other. */
    readonly isIndependent?: boolean;
  }
  /** Restarts a unit of an agent that has no turn. */
  | {
    readonly kind: "replace";
    readonly unit: string;
    readonly agent: AgentName;
    /** Restart it during a turn, too. */
    readonly isDue: boolean;
    readonly isIndependent: true;
  };

/** A step that acts on a unit. */
export type UnitStep = Extract<Step, { readonly unit: string }>;

/** Returns the subject of a step: a path or a unit. */
export function stepSubject(step: Step): string {
  if ("path" in step) return step.path;
  if ("unit" in step) return step.unit;
  return step.kind === "record" ? "rendered.json" : "service manager";
}

/** Returns the kind of a step for progress lines. */
export function progressKind(step: Step): StepProgress["kind"] {
  switch (step.kind) {
    case "write":
    case "client":
      return "write";
    case "remove":
    case "start":
    case "restart":
    case "replace":
    case "bounce":
    case "stop":
    case "reload":
      return step.kind;
    default:
      return "other";
  }
}
