/**
 * The dial units that wait for the end of a turn, as the record of the last reconcile names them.
 * Pure.
 *
 * @module
 */

import type { AgentName } from "core/names.ts";
import type { RecordedUnit, RenderRecord } from "units/reconcile/record.ts";
import { agentOfDialUnit } from "units/render/unit_name.ts";

/** A unit that waits, as recorded. */
export interface WaitingUnit {
  readonly name: string;
  readonly agent: AgentName;
  readonly since: number;
  readonly unit: RecordedUnit;
}

/** Returns the units that wait for the end of a turn. */
export function waitingUnits(record: RenderRecord): readonly WaitingUnit[] {
  return Object.entries(record.units).flatMap(([name, unit]) => {
    const agent = agentOfDialUnit(name);
    const { waitsSince } = unit;
    if (agent === undefined || typeof waitsSince !== "number") return [];
    return [{ name, agent, since: waitsSince, unit }];
  });
}
