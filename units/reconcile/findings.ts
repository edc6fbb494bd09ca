/**
 * Faults found on the host that the steps of the same plan repair, as sentences. A file line or a
 * unit line shows only what changes, not what was broken before. Pure.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { Desired } from "units/reconcile/desired.ts";
import type { Observed } from "units/reconcile/observe.ts";

/** Returns the faults, in the order of the units. */
export function findings(desired: Desired, observed: Observed): readonly Refusal[] {
  return desired.units.flatMap(({ name, socket }) => {
    const fault = observed.socketFaults.get(name);
    if (fault === undefined || socket === undefined) return [];
    return [refusal(
      "socket-lost",
      `Socket ${JSON.stringify(socket.path)} of ${name} is not reachable as configured: ${fault}`,
      { hints: ["fleetctl apply"] },
    )];
  });
}
