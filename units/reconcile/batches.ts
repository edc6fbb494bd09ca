/**
 * Groups neighbouring steps of a plan. A service manager accepts hundreds of units in one call, and
 * a call costs it more than a unit. Services are started, and files written, in parallel, a limited
 * number at a time. Pure.
 *
 * @module
 */

import type { Step, UnitStep } from "units/reconcile/step.ts";
import type { UnitVerb } from "core/ports/unit.ts";

/** A step and its index in the plan. */
export type IndexedStep = readonly [step: Step, index: number];

/** Steps that are executed together. */
export type Batch =
  | { readonly how: "parallel"; readonly steps: readonly IndexedStep[] }
  /** One call of the service manager for each of `verbs`. */
  | {
    readonly how: "combined";
    readonly verbs: readonly UnitVerb[];
    readonly steps: readonly (readonly [step: UnitStep, index: number])[];
  };

/**
 * Maximum number of parallel steps of a kind, if they do not depend on one another. The disk
 * handles many files in parallel, and each write is atomic by itself.
 */
const PARALLEL_MAX: Readonly<Partial<Record<Step["kind"], number>>> = {
  write: 32,
  folder: 8,
  client: 8,
  start: 8,
  restart: 8,
  // Each start takes processor time from the agents that work.
  replace: 4,
};
/** Maximum number of units per call, so that people see progress. */
const UNITS_PER_CALL_MAX = 200;

/** Splits a plan into batches, in order. */
export function batchesOf(steps: readonly Step[]): readonly Batch[] {
  const batches: Batch[] = [];
  let open: IndexedStep[] = [];
  const close = () => {
    if (open.length > 0) batches.push(batchOf(open));
    open = [];
  };
  for (const [index, step] of steps.entries()) {
    const [first] = open[0] ?? [];
    if (first === undefined || !belongs(step, open.map(([each]) => each))) close();
    open.push([step, index]);
  }
  close();
  return batches;
}

function belongs(step: Step, open: readonly Step[]): boolean {
  const [first] = open;
  if (first === undefined) return true;
  if (verbsOf(first) !== undefined) {
    return open.length < UNITS_PER_CALL_MAX && step.kind === first.kind &&
      verbsOf(step) !== undefined;
  }
  const isSame = step.kind === first.kind || ("unit" in step && "unit" in first);
  return isSame && open.length < (PARALLEL_MAX[step.kind] ?? 1) && isParallel(step) &&
    isParallel(first) && !open.some((other) => isBelow(step, other));
}

function batchOf(steps: readonly IndexedStep[]): Batch {
  const units = steps.filter((indexed): indexed is readonly [UnitStep, number] =>
    "unit" in indexed[0]
  );
  const verbs = units.length === 0 ? undefined : verbsOf(units[0]?.[0] as UnitStep);
  return verbs === undefined
    ? { how: "parallel", steps }
    : { how: "combined", verbs, steps: units };
}

function isParallel(step: Step): boolean {
  return !("unit" in step) || (step.isIndependent === true && verbsOf(step) === undefined);
}

/** A folder depends on its parent folder. */
function isBelow(step: Step, other: Step): boolean {
  return "path" in step && "path" in other && step.path.startsWith(`${other.path}/`);
}

/**
 * Returns the manager verbs of a step that can be combined with others; undefined for other steps.
 */
function verbsOf(step: Step): readonly UnitVerb[] | undefined {
  if (!("unit" in step)) return undefined;
  switch (step.kind) {
    case "enable":
    case "disable":
    case "stop":
      return [step.kind];
    case "start":
      // A service start waits until the service reports readiness, so it is not combined.
      return step.unit.endsWith(".socket") ? ["start"] : undefined;
    case "bounce":
      // The stop also ends the servers of the old tree (`PartOf=`).
      return ["stop", "start"];
    case "restart":
    case "replace":
      return undefined;
  }
}
