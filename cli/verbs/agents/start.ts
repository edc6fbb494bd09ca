/**
 * `fleetctl agents start <agent>`: starts an agent that was stopped or whose unit is down.
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

/** Records the start and reconciles the host. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  return await setStopped(context, false);
}
