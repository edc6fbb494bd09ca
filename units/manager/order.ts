/**
 * In which order units are started and stopped. Pure: names and relations in, steps out.
 * Rules: systemd.unit(5). `Requires=`, `Wants=` and `BindsTo=` say what is started along, `After=`
 * and `Before=` say when; a unit is stopped with what it requires, is bound to or is part of.
 * Targets that no file describes are mere names and always reached.
 *
 * @module
 */

import type { Relations } from "units/manager/units/unit_spec.ts";

/** Tells the relations of a unit, or undefined when it is not loaded. */
export type RelationsOf = (unit: string) => Relations | undefined;

/** What is to be started, and what each waits for. */
export interface StartPlan {
  /** In the order of the given names; a unit stands after all that it waits for. */
  readonly steps: readonly StartStep[];
  /** Units that a required relation names and that are not loaded, as `unit requires missing`. */
  readonly missing: readonly { readonly unit: string; readonly needs: string }[];
}

/** One unit to be stopped. */
export interface StopStep {
  readonly unit: string;
  /** Steps that must have ended, well or not, before this one begins. */
  readonly after: readonly string[];
}

/** One unit to be started. */
export interface StartStep extends StopStep {
  /** Steps among `after` that must have ended well. */
  readonly needs: readonly string[];
  /** Required steps that are started alongside: when one fails, this unit is stopped again. */
  readonly alongside: readonly string[];
}

/** Plans the start of units with all that they pull in. */
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

/** Orders the stop of units: each waits for those that were started after it. */
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

/** Runs steps, each as soon as those it waits for have ended, well or not. */
export function runInOrder<T>(
  steps: readonly StopStep[],
  run: (unit: string, earlier: ReadonlyMap<string, Promise<T>>) => Promise<T>,
): ReadonlyMap<string, Promise<T>> {
  const jobs = new Map<string, Promise<T>>();
  for (const { unit, after } of steps) {
    const earlier = after.map((other) => jobs.get(other));
    const job = Promise.allSettled(earlier).then(() => run(unit, jobs));
    // Whoever wants to know waits for the job itself.
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

/** A target without a file is a name to order by. */
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

/** Depth first, so that what is waited for comes first; a cycle is cut where it closes. */
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
    // What is still open closes a cycle: waiting for it would never end.
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
