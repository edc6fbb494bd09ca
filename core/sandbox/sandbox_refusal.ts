/**
 * The refusal of a command whose sandbox cannot be built. Its words are the same for the model, in
 * a turn, and for the operator, in `status`. Pure.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";

/** Returns the refusal; `why` is the fault that the probe reported. */
export function noSandbox(agent: string, why: string): Refusal {
  return refusal(
    "sandbox-not-possible",
    `Cannot run a command of agent "${agent}" in its sandbox: ${why}`,
    { hints: hintsFor(agent, why) },
  );
}

function hintsFor(agent: string, why: string): readonly string[] {
  const off = `fleetctl agents set ${agent} --sandbox off`;
  const again = `fleetctl agents restart ${agent}`;
  if (/no such program/.test(why)) return ["apt-get install -y bubblewrap", again];
  if (/workspace/.test(why)) {
    return [`fleetctl agents set ${agent} --workspace '~/workspace'`, again];
  }
  return ["cat /proc/sys/user/max_user_namespaces", off, again];
}
