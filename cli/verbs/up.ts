/**
 * `fleetctl up`: runs the whole service on this machine, as the current user, under one folder, in
 * the foreground. It starts the embedded service manager, reconciles the root with its ledger,
 * waits until every agent is connected, and prints the next steps. With `--turn` it sends one turn
 * and ends.
 *
 * @module
 */

import { parseUpOptions, type UpOptions } from "cli/up/options.ts";
import { runUp } from "cli/up/run.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import type { Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Parses the options. `run` makes paths absolute, because it knows the working folder. */
export function parseOptions(invocation: Invocation): Result<UpOptions> {
  return parseUpOptions({
    ...invocation.options,
    teamchat: invocation.switches.has("teamchat"),
  });
}

/** Runs until it is stopped, or until the turn is over. */
export function run(context: VerbContext, options: UpOptions): Promise<Result<VerbReport>> {
  return runUp(context, options);
}
