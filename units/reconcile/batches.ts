/**
 * Which neighbours in a plan are done together. A service manager takes hundreds of units in one
 * call, and each call costs it more than a unit does; services are started, and files written, beside
 * one another, some at a time. Pure.
 *
 * @module
 */

import type { Step, UnitStep } from "units/reconcile/step.ts";
import type { UnitVerb } from "core/unit.ts";

/** A step and its place in the plan. */
export type PlacedStep = readonly [step: Step, index: number];

/** Steps that are done at once. */
export type Batch =
  | { readonly how: "beside"; readonly steps: readonly PlacedStep[] }
  /** By one call of the service manager for each of `verbs`. */
  | {
    readonly how: "together";
    readonly verbs: readonly UnitVerb[];
    readonly steps: readonly (readonly [step: UnitStep, index: number])[];
  };

/** Dial units that are started at once. */
const STARTS_MAX = 8;
/** Files that are written at once: the disk takes them together, and each is atomic by itself. */
const WRITES_MAX = 32;
/** Units in one call, so that people see how far it is. */
const TOGETHER_MAX = 200;

/** Parts a plan into batches, in its order. */
export function batchesOf(steps: readonly Step[]): readonly Batch[] {
  const batches: Batch[] = [];
  let open: PlacedStep[] = [];
  const close = () => {
    if (open.length > 0) batches.push(batchOf(open));
    open = [];
  };
  for (const [index, step] of steps.entries()) {
    const [first] = open[0] ?? [];
    if (first === undefined || !belongs(step, first, open.length)) close();
    open.push([step, index]);
  }
  close();
  return batches;
}

function belongs(step: Step, first: Step, count: number): boolean {
  if (verbsOf(first) !== undefined) {
    return count < TOGETHER_MAX && step.kind === first.kind && verbsOf(step) !== undefined;
  }
  return step.kind === "write"
    ? count < WRITES_MAX && first.kind === "write"
    : count < STARTS_MAX && isBeside(step) && isBeside(first);
}

function batchOf(steps: readonly PlacedStep[]): Batch {
  const units = steps.filter((placed): placed is readonly [UnitStep, number] =>
    "unit" in placed[0]
  );
  const verbs = units.length === 0 ? undefined : verbsOf(units[0]?.[0] as UnitStep);
  return verbs === undefined ? { how: "beside", steps } : { how: "together", verbs, steps: units };
}

function isBeside(step: Step): boolean {
  return "unit" in step && step.isIndependent === true && verbsOf(step) === undefined;
}

/** Returns what is asked of the manager for a step that many units share; undefined for others. */
function verbsOf(step: Step): readonly UnitVerb[] | undefined {
  if (!("unit" in step)) return undefined;
  switch (step.kind) {
    case "enable":
    case "disable":
    case "stop":
      return [step.kind];
    case "start":
      // A service is waited for until it says that it is ready.
      return step.unit.endsWith(".socket") ? ["start"] : undefined;
    case "bounce":
      // Stopping ends the servers of the old tree with the socket (`PartOf=`).
      return ["stop", "start"];
    case "restart":
      return undefined;
  }
}
