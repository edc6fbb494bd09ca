/**
 * `fleetctl agents stop <agent>`: stops an agent. It stays stopped after `apply` and a reboot.
 *
 * @module
 */

import { setStopped } from "cli/agents/wake.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** No options: the agent is the context's target. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: the context already has the target. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** Records the stop and reconciles the host. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  return await setStopped(context, true);
}
