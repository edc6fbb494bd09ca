/**
 * Replaces the agents that wait for the end of their turn and need not wait longer. It uses what
 * the last reconcile recorded and reads no facts, so that it can run often. A process that was
 * restarted by other means no longer waits.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import type { UnitStatus } from "core/ports/unit.ts";
import { ok, type Result } from "core/result.ts";
import { execute, type ExecutePorts } from "units/reconcile/execute.ts";
import type { ReconcilePorts, StepProgress } from "units/reconcile/ports.ts";
import {
  isSameRun,
  parseRecord,
  printRecord,
  type RecordedUnit,
  recordPath,
  type RenderRecord,
} from "units/reconcile/record.ts";
import { isOverdue } from "units/reconcile/replacement.ts";
import { type UnitLine, type WaitingLine, waitingLines } from "units/reconcile/report.ts";
import { progressKind, type Step, stepSubject } from "units/reconcile/step.ts";
import { type WaitingUnit, waitingUnits } from "units/reconcile/waiting_units.ts";

/** What one round did. */
export interface Round {
  readonly units: readonly UnitLine[];
  readonly faults: readonly Refusal[];
  readonly waiting: readonly WaitingLine[];
}

type Ports = Pick<ReconcilePorts, "clock" | "dials" | "files" | "services">;

/** Replaces the agents that have no turn, and those that have waited long enough. */
export async function replaceWaiting(
  paths: Paths,
  ports: Ports,
  onStep: (progress: StepProgress) => void,
): Promise<Result<Round>> {
  await ports.files.ensureDir(paths.locks, { mode: 0o700 });
  const lock = await ports.files.lock(`${paths.locks}/reconcile.lock`);
  try {
    const record = await readRecord(ports.files, paths);
    const units = record === undefined ? [] : waitingUnits(record, paths);
    if (record === undefined || units.length === 0) {
      return ok({ units: [], faults: [], waiting: [] });
    }
    return await replace(units, { paths, ports, record, onStep });
  } finally {
    await lock.release();
  }
}

async function replace(
  units: readonly WaitingUnit[],
  by: {
    readonly paths: Paths;
    readonly ports: Ports;
    readonly record: RenderRecord;
    readonly onStep: (progress: StepProgress) => void;
  },
): Promise<Result<Round>> {
  const { paths, ports, record, onStep } = by;
  const statuses = await ports.services.isRunning()
    ? await ports.services.status(units.map(({ name }) => name))
    : [];
  const still = units.filter(({ name, unit }) =>
    isSameRun(unit.stale, runOf(statuses.find((one) => one.unit === name)))
  );
  const now = ports.clock.now();
  const steps = still.map(({ name, agent, since }): Step => {
    const isDue = isOverdue(since, now);
    return isDue && name.endsWith(".socket")
      ? { kind: "bounce", unit: name }
      : { kind: "replace", unit: name, agent, isDue, isIndependent: true };
  });
  const machine: ExecutePorts = { ...ports, homeOf: () => undefined };
  const executed = await execute(steps, machine, {
    paths,
    onStep: (step, index, state) =>
      onStep({
        kind: progressKind(step),
        subject: stepSubject(step),
        state,
        index,
        total: steps.length,
      }),
  });
  if (!executed.ok) return executed;
  const { busy, failed, units: lines, faults } = executed.value;
  const after = { ...record.units };
  for (const { name, unit } of units) {
    if (!busy.has(name)) after[name] = settled(unit, failed.has(name));
  }
  await ports.files.write(recordPath(paths), printRecord({ ...record, units: after }), {
    mode: 0o600,
  });
  const waiting = waitingLines(still.filter(({ name }) => busy.has(name)));
  return ok({ units: lines, faults, waiting });
}

/** A unit that could not be restarted is left to the service manager and to the next `apply`. */
function settled(
  { stale: _stale, ran: _ran, unread: _unread, waitsSince: _since, ...unit }: RecordedUnit,
  isFailed: boolean,
): RecordedUnit {
  return isFailed ? { ...unit, unready: true } : unit;
}

function runOf(status: UnitStatus | undefined) {
  return status === undefined ? undefined : { pid: status.mainPid, since: status.since };
}

async function readRecord(
  files: Pick<Files, "readText">,
  paths: Paths,
): Promise<RenderRecord | undefined> {
  const text = await files.readText(recordPath(paths));
  return text === undefined ? undefined : parseRecord(text);
}
