/**
 * The manager's periodic check: which process belongs to which unit, which unit uses too much
 * memory, and which client has disconnected. One read of the process table serves all units. No
 * check runs while no unit runs.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { Kernel } from "units/manager/os/processes/kernel.ts";
import type { Lingering } from "units/manager/os/processes/lingering.ts";
import { readTable } from "core/os/proc.ts";
import type { Execution } from "units/manager/os/runs/execution.ts";

/** Time between two checks. */
export const SWEEP_MS = 1_000;

/** Starts the checks; returns a function that ends them. */
export function startSweep(
  running: ReadonlySet<Execution>,
  lingering: Lingering,
  deps: { readonly kernel: Kernel; readonly clock: Clock; readonly everyMs: number },
): () => void {
  let cancel = () => {};
  const next = () => {
    cancel = deps.clock.after(deps.everyMs, () => {
      if (running.size + lingering.size > 0) sweep(running, lingering, deps.kernel);
      next();
    });
  };
  next();
  return () => cancel();
}

function sweep(running: ReadonlySet<Execution>, lingering: Lingering, kernel: Kernel): void {
  const table = readTable(kernel);
  lingering.watch(table);
  const connected: { readonly execution: Execution; readonly descriptor: number }[] = [];
  for (const execution of running) {
    execution.watch(table);
    const descriptor = execution.connectionDescriptor();
    if (descriptor !== undefined) connected.push({ execution, descriptor });
  }
  const hungUp = kernel.hungUp(connected.map((one) => one.descriptor));
  connected.forEach(({ execution }, index) => {
    if (hungUp[index] === true) execution.clientGone();
  });
}
