/**
 * What `status` says about an agent that waits for the end of its turn before a new version
 * replaces it.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { WaitingLine } from "units/reconcile/report.ts";

/** Returns the problem of an agent that runs an old version. */
export function oldVersionRuns({ agent, since, until }: WaitingLine): Refusal {
  return refusal(
    "old-version-runs",
    `Agent "${agent}" has run the old version since the upgrade at ${since}: it is replaced when ` +
      `its turn ends, at the latest at ${until}`,
    { hints: ["fleetctl apply --now"] },
  );
}
