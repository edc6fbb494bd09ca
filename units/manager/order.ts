/**
 * The order in which units are started and stopped. Pure: names and relations in, steps out. Rules:
 * systemd.unit(5). `Requires=`, `Wants=` and `BindsTo=` state what is started together. `After=`
 * and `Before=` state when. A unit is stopped with the units that it requires, is bound to or is
 * part of. A target without a file is only a name and always counts as reached.
 *
 * @module
 */

import type { Relations } from "units/manager/units/unit_spec.ts";

/** Returns the relations of a unit, or undefined when it is not loaded. */
export type RelationsOf = (unit: string) => Relations | undefined;

/** The units to start, and the units that each one waits for. */
export interface StartPlan {
  /** In the order of the given names; a unit comes after all units that it waits for. */
  readonly steps: readonly StartStep[];
  /** Required units that are not loaded: `unit` requires `needs`. */
  readonly missing: readonly { readonly unit: string; readonly needs: string }[];
}

/** One unit to stop. */
export interface StopStep {
  readonly unit: string;
  /** Steps that must have ended, successfully or not, before this one begins. */
  readonly after: readonly string[];
}

/** One unit to start. */
export interface StartStep extends StopStep {
  /** Steps among `after` that must have succeeded. */
  readonly needs: readonly string[];
  /** Required steps that are started in parallel: when one fails, this unit is stopped again. */
  readonly alongside: readonly string[];
}

/** Plans the start of units and of everything that they pull in. */
export function planStart(units: readonly string[], relationsOf: RelationsOf): StartPlan {
  const pulled = new Map<string, Relations>();
  const missing: { unit: string; needs: string }[] = [];
  const pull = (unit: string) => {
    const relations = relationsOf(unit);
    if (relations === undefined || pulled.has(unit)) return relations !== undefined;
    pulled.set(unit, relations);
    for (const needs of required(relations)) {
      if (!pull(needs) && !isName(needs)) missing.push({ unit, needs });
    }
    for (const wanted of relations.wants) pull(wanted);
    return true;
  };
  for (const unit of units) pull(unit);
  const after = orderings(pulled);
  return { steps: sortSteps(pulled, after), missing };
}

/** Returns the given units and all that must be stopped with them, dependents first. */
export function planStop(
  units: readonly string[],
  loaded: Iterable<string>,
  relationsOf: RelationsOf,
): readonly StopStep[] {
  const all = [...loaded];
  const stopped = new Set<string>();
  const waiting = [...units];
  for (let unit = waiting.pop(); unit !== undefined; unit = waiting.pop()) {
    if (stopped.has(unit)) continue;
    stopped.add(unit);
    for (const other of all) {
      const relations = relationsOf(other);
      if (relations === undefined) continue;
      if ([...required(relations), ...relations.partOf].includes(unit)) waiting.push(other);
    }
  }
  return planStopOrder([...stopped], relationsOf);
}

/** Orders the stop of units: each unit waits for those that were started after it. */
export function planStopOrder(
  units: readonly string[],
  relationsOf: RelationsOf,
): readonly StopStep[] {
  const known = new Map(
    units.map((unit) => [unit, relationsOf(unit) ?? NO_RELATIONS] as const),
  );
  const steps = sortSteps(known, orderings(known)).toReversed();
  return steps.map(({ unit }) => ({
    unit,
    after: steps.filter((other) => other.after.includes(unit)).map((other) => other.unit),
  }));
}

/** Runs each step as soon as the steps it waits for have ended, successfully or not. */
export function runInOrder<T>(
  steps: readonly StopStep[],
  run: (unit: string, earlier: ReadonlyMap<string, Promise<T>>) => Promise<T>,
): ReadonlyMap<string, Promise<T>> {
  const jobs = new Map<string, Promise<T>>();
  for (const { unit, after } of steps) {
    const earlier = after.map((other) => jobs.get(other));
    const job = Promise.allSettled(earlier).then(() => run(unit, jobs));
    // Callers that need the result await the job itself.
    job.catch(() => {});
    jobs.set(unit, job);
  }
  return jobs;
}

const NO_RELATIONS: Relations = {
  after: [],
  before: [],
  requires: [],
  wants: [],
  bindsTo: [],
  partOf: [],
};

function required(relations: Relations): readonly string[] {
  return [...relations.requires, ...relations.bindsTo];
}

/** A target without a file is a name used only for ordering. */
function isName(unit: string): boolean {
  return unit.endsWith(".target");
}

function orderings(units: ReadonlyMap<string, Relations>): ReadonlyMap<string, Set<string>> {
  const after = new Map([...units.keys()].map((unit) => [unit, new Set<string>()] as const));
  for (const [unit, relations] of units) {
    for (const earlier of relations.after) if (units.has(earlier)) after.get(unit)?.add(earlier);
    for (const later of relations.before) after.get(later)?.add(unit);
  }
  return after;
}

/** Depth first, so that dependencies come first; a cycle is broken where it closes. */
function sortSteps(
  units: ReadonlyMap<string, Relations>,
  after: ReadonlyMap<string, Set<string>>,
): readonly StartStep[] {
  const steps: StartStep[] = [];
  const done = new Set<string>();
  const open = new Set<string>();
  const visit = (unit: string) => {
    if (done.has(unit) || open.has(unit)) return;
    open.add(unit);
    const earlier = [...after.get(unit) ?? []];
    for (const other of earlier) visit(other);
    open.delete(unit);
    done.add(unit);
    const needs = required(units.get(unit) ?? NO_RELATIONS).filter((other) => units.has(other));
    // An unfinished dependency closes a cycle: a wait for it would never end.
    const waited = earlier.filter((other) => done.has(other));
    steps.push({
      unit,
      after: waited,
      needs: needs.filter((other) => waited.includes(other)),
      alongside: needs.filter((other) => !waited.includes(other)),
    });
  };
  for (const unit of units.keys()) visit(unit);
  return steps;
}
