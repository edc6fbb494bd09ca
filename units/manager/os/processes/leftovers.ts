/**
 * Ends the processes that a killed manager of the same root left behind. A process belongs to this
 * root if one of three signs holds:
 *
 * - Its environment names this root's manager (set from its first instruction on).
 * - Its pid *and* start time are in the list of children of this boot.
 * - It is a descendant, or in the process group, of such a process.
 *
 * A reused pid has another start time, so another process is never signalled.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { Leftover } from "units/manager/embedded.ts";
import type { ChildRecord } from "units/manager/os/processes/child_records.ts";
import type { Kernel } from "units/manager/os/processes/kernel.ts";
import { KILL_MS_MAX, signalAll, waitUntilNone } from "units/manager/os/processes/members.ts";
import { findMembers, type ProcessEntry, processKey, readTable } from "core/os/proc.ts";
import { readVariable } from "units/manager/os/processes/process_table.ts";
import { MANAGER_VARIABLE, UNIT_VARIABLE } from "units/manager/os/runs/execution_context.ts";
import { SIGNALS } from "units/manager/units/unit_numbers.ts";

/** Time between the stop signal and the kill. */
const TERM_MS = 3_000;

/** Known facts about an earlier manager. */
export interface Earlier {
  readonly records: readonly ChildRecord[];
  readonly boot: string;
  /** Path of the control socket, as in the environment of children. */
  readonly managerSocket: string;
  readonly ownPid: number;
}

/** The processes found, and those that could not be ended. */
export interface Cleaning {
  readonly ended: readonly Leftover[];
  readonly survivors: readonly number[];
}

/** Ends every leftover process; resolves when all are gone. */
export async function endLeftovers(
  earlier: Earlier,
  deps: { readonly kernel: Kernel; readonly clock: Clock },
): Promise<Cleaning> {
  const { kernel, clock } = deps;
  const units = new Map<string, string>();
  const find = () => findLeftovers(earlier, kernel, units);
  const found = find();
  if (found.length === 0) return { ended: [], survivors: [] };
  signalAll(kernel, found, SIGNALS["TERM"] as number);
  await waitUntilNone(clock, find, { ms: TERM_MS, signal: undefined });
  const survivors = await waitUntilNone(clock, () => {
    const left = find();
    signalAll(kernel, left, SIGNALS["KILL"] as number);
    return left;
  }, { ms: KILL_MS_MAX, signal: undefined });
  return {
    ended: found.map((entry) => ({
      unit: units.get(processKey(entry)) ?? "unknown",
      pid: entry.pid,
    })),
    survivors: survivors.map((entry) => entry.pid),
  };
}

/** Returns the live leftover processes; `units` collects each process seen, with its unit. */
function findLeftovers(
  earlier: Earlier,
  kernel: Kernel,
  units: Map<string, string>,
): readonly ProcessEntry[] {
  const table = withoutOwn(readTable(kernel), earlier.ownPid);
  const recorded = new Map(
    earlier.records.filter((record) => record.boot === earlier.boot)
      .map((record) => [processKey(record), record.unit] as const),
  );
  for (const entry of table) {
    const key = processKey(entry);
    const unit = recorded.get(key);
    if (unit !== undefined) units.set(key, unit);
    else if (!units.has(key) && isMarked(kernel, entry, earlier)) {
      units.set(key, readVariable(kernel, entry.pid, UNIT_VARIABLE) ?? "unknown");
    }
  }
  // A group or session belongs to the run while its leader lives, because its id cannot be reused
  // until then.
  const heads = table.filter((entry) => units.has(processKey(entry)) && entry.pid === entry.group);
  const leaders = new Map(heads.map((entry) => [entry.pid, units.get(processKey(entry))] as const));
  const members = findMembers(table, new Set(leaders.keys()), new Set(units.keys()));
  const names = new Map(members.map((entry) => [entry.pid, entry] as const));
  for (const entry of members) {
    const key = processKey(entry);
    if ((units.get(key) ?? "unknown") !== "unknown") continue;
    units.set(key, unitAbove(entry, names, units, leaders));
  }
  return members;
}

/**
 * Leaves out this process, its ancestors and its session. The parent of this manager may carry the
 * earlier manager's variable, if this manager was started from inside it.
 */
function withoutOwn(
  table: readonly ProcessEntry[],
  ownPid: number,
): readonly ProcessEntry[] {
  const byPid = new Map(table.map((entry) => [entry.pid, entry] as const));
  const session = byPid.get(ownPid)?.session;
  const ancestors = new Set<number>();
  for (let at = byPid.get(ownPid); at !== undefined && !ancestors.has(at.pid);) {
    ancestors.add(at.pid);
    at = byPid.get(at.parent);
  }
  return table.filter((entry) => !ancestors.has(entry.pid) && entry.session !== session);
}

function unitAbove(
  entry: ProcessEntry,
  members: ReadonlyMap<number, ProcessEntry>,
  units: ReadonlyMap<string, string>,
  leaders: ReadonlyMap<number, string | undefined>,
): string {
  const seen = new Set<number>();
  for (
    let at: ProcessEntry | undefined = entry;
    at !== undefined && !seen.has(at.pid);
    at = members.get(at.parent)
  ) {
    seen.add(at.pid);
    const unit = units.get(processKey(at)) ?? leaders.get(at.group) ?? leaders.get(at.session);
    if (unit !== undefined && unit !== "unknown") return unit;
  }
  return "unknown";
}

function isMarked(kernel: Kernel, entry: ProcessEntry, earlier: Earlier): boolean {
  return readVariable(kernel, entry.pid, MANAGER_VARIABLE) === earlier.managerSocket;
}
