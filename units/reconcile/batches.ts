/**
 * Which neighbours in a plan are done together. A service manager takes hundreds of units in one
 * call, and each call costs it more than a unit does; services are started, and files written,
 * beside one another, some at a time. Pure.
 *
 * @module
 */

import type { Step, UnitStep } from "units/reconcile/step.ts";
import type { UnitVerb } from "core/ports/unit.ts";

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

/**
 * Steps of a kind that are done at once, where they do not wait for one another. The disk takes
 * many files together, and each is atomic by itself.
 */
const BESIDE_MAX: Readonly<Partial<Record<Step["kind"], number>>> = {
  write: 32,
  folder: 8,
  client: 8,
  start: 8,
  restart: 8,
};
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
    return open.length < TOGETHER_MAX && step.kind === first.kind && verbsOf(step) !== undefined;
  }
  const isSame = step.kind === first.kind || ("unit" in step && "unit" in first);
  return isSame && open.length < (BESIDE_MAX[step.kind] ?? 1) && isBeside(step) &&
    isBeside(first) && !open.some((other) => isBelow(step, other));
}

function batchOf(steps: readonly PlacedStep[]): Batch {
  const units = steps.filter((placed): placed is readonly [UnitStep, number] =>
    "unit" in placed[0]
  );
  const verbs = units.length === 0 ? undefined : verbsOf(units[0]?.[0] as UnitStep);
  return verbs === undefined ? { how: "beside", steps } : { how: "together", verbs, steps: units };
}

function isBeside(step: Step): boolean {
  return !("unit" in step) || (step.isIndependent === true && verbsOf(step) === undefined);
}

/** A folder waits for the one that it is in. */
function isBelow(step: Step, other: Step): boolean {
  return "path" in step && "path" in other && step.path.startsWith(`${other.path}/`);
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
