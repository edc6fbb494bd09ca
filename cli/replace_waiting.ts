/**
 * `fleetctl apply --waiting`: replaces agents that run an old version, each when its turn ends or
 * when it has waited 30 minutes. The lock is free between two rounds.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { stepReporter, underVerbLock } from "cli/planner.ts";
import { reconcilePorts } from "cli/reconcile_ports.ts";
import type { Refusal } from "core/errors.ts";
import { ok, type Result } from "core/result.ts";
import { replaceWaiting } from "units/reconcile/replace_waiting.ts";
import type { UnitLine } from "units/reconcile/report.ts";

/** Pause between two rounds. After its turn, an agent waits about this long to be replaced. */
const ROUND_MS = 10_000;

/** Repeats rounds until no agent waits. */
export async function replaceUntilNoneWaits(context: VerbContext): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const machine = reconcilePorts(context, ports.services(paths));
  const units: UnitLine[] = [];
  const faults: Refusal[] = [];
  for (;;) {
    const round = await underVerbLock(
      context,
      () => replaceWaiting(paths, machine, stepReporter(context)),
    );
    if (!round.ok) return round;
    units.push(...round.value.units);
    faults.push(...round.value.faults);
    if (round.value.waiting.length === 0) break;
    await ports.clock.sleep(ROUND_MS);
  }
  const lines = units.map(({ unit, change }) => `${change.padEnd(10)} ${unit}`);
  return ok({
    json: { units, faults },
    blocks: [{ kind: "lines", lines: lines.length === 0 ? ["no agent waits"] : lines }],
    faults,
  });
}
