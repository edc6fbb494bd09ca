/**
 * Runs one action on many units with few `systemctl` calls: enables without a reload for each unit,
 * starts and stops in groups. When a group fails, its units are tried one by one. The fault of each
 * unit is then known, and one bad unit does not delay the others.
 *
 * @module
 */

import { eachUnit } from "units/manager/each_unit.ts";
import type { ServiceFault } from "units/manager/service_manager.ts";
import type { UnitStatus, UnitVerb } from "core/ports/unit.ts";

/** Unit names per call: far below the kernel's limit on arguments, and seconds of work at most. */
const GROUP_MAX = 200;

/** The calls that this module combines. */
export interface SystemdCalls {
  /** Runs `systemctl` on several units; false when one of them failed. */
  group(verb: UnitVerb, units: readonly string[]): Promise<boolean>;
  /** Acts on one unit, and rejects with its `ServiceFault`. */
  one(verb: UnitVerb, unit: string): Promise<void>;
  status(units: readonly string[]): Promise<readonly UnitStatus[]>;
}

/** Acts on all units; returns the fault of each that failed. */
export async function actOnEach(
  verb: UnitVerb,
  units: readonly string[],
  calls: SystemdCalls,
): Promise<readonly ServiceFault[]> {
  // A service is started alone, because only a single start can wait for readiness.
  const isAlone = (unit: string) => verb === "start" && unit.endsWith(".service");
  const grouped = units.filter((unit) => !isAlone(unit));
  const faults: ServiceFault[] = [];
  for (let start = 0; start < grouped.length; start += GROUP_MAX) {
    const group = grouped.slice(start, start + GROUP_MAX);
    if (group.length > 1 && await calls.group(verb, group)) continue;
    faults.push(
      ...await eachUnit(await left(verb, group, calls), (unit) => calls.one(verb, unit)),
    );
  }
  const alone = units.filter(isAlone);
  return [...faults, ...await eachUnit(alone, (unit) => calls.one(verb, unit))];
}

/** Returns the units of a failed group that still need the action. */
async function left(
  verb: UnitVerb,
  group: readonly string[],
  calls: SystemdCalls,
): Promise<readonly string[]> {
  if (verb !== "start" || group.length === 1) return group;
  const states = await calls.status(group);
  return states.filter(({ active }) => active !== "active").map(({ unit }) => unit);
}
