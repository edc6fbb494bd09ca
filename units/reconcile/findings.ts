/**
 * What was found wrong on the host and is put right by the steps of the same plan, as sentences: a
 * file line or a unit line alone says what changes, not what did not work until then. Pure.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { Desired } from "units/reconcile/desired.ts";
import type { Observed } from "units/reconcile/observe.ts";

/** Returns what did not work, in the order of the units. */
export function findings(desired: Desired, observed: Observed): readonly Refusal[] {
  return desired.units.flatMap(({ name, socket }) => {
    const fault = observed.socketFaults.get(name);
    if (fault === undefined || socket === undefined) return [];
    return [refusal(
      "socket-lost",
      `Socket ${JSON.stringify(socket.path)} of ${name} cannot be reached as it must be: ${fault}`,
      { hints: ["fleetctl apply"] },
    )];
  });
}
