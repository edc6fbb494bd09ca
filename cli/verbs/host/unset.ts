/**
 * `fleetctl host unset`: removes one key of `host.yaml`. Without the marker of a gateway, this host
 * is its own gateway.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { changeMarker, type HostSetting } from "cli/host/edit.ts";
import type { VerbReport } from "cli/output.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The marker to remove. */
export interface Options {
  readonly marker: HostSetting;
}

/** Parses the marker. */
export function parseOptions({ args }: Invocation): Result<Options> {
  return ok({ marker: args.marker as HostSetting });
}

/** Removes the marker. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return changeMarker(context, options.marker, undefined);
}
