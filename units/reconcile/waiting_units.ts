/**
 * The units that wait for the end of a turn, as the record of the last reconcile names them. Pure.
 *
 * @module
 */

import { type AgentName, parseAgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { unitOfPath } from "units/reconcile/observe.ts";
import type { RecordedUnit, RenderRecord } from "units/reconcile/record.ts";

/** A unit that waits, as recorded. */
export interface WaitingUnit {
  readonly name: string;
  readonly agent: AgentName;
  readonly since: number;
  readonly unit: RecordedUnit;
}

/** Returns the units that wait, sockets first: a new runtime must not reach an old server. */
export function waitingUnits(record: RenderRecord, paths: Paths): readonly WaitingUnit[] {
  const agents = new Map(
    record.files.map(({ path, agent }) => [unitOfPath(path, paths), agent] as const),
  );
  const found = Object.entries(record.units).flatMap(([name, unit]) => {
    const { waitsSince } = unit;
    const agent = parseAgentName(agents.get(name) ?? "");
    if (!agent.ok || typeof waitsSince !== "number") return [];
    return [{ name, agent: agent.value, since: waitsSince, unit }];
  });
  const isSocket = ({ name }: WaitingUnit) => Number(name.endsWith(".socket"));
  return found.sort((a, b) => isSocket(b) - isSocket(a) || (a.name < b.name ? -1 : 1));
}
