/**
 * `fleetctl host set`: sets one marker of this host. Its value is a hostname, never an address, or
 * `wss://<hostname>` for a webview gateway behind TLS.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { changeMarker, type HostSetting } from "cli/host/edit.ts";
import type { VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import { checkMarker, type Marker } from "core/ledger/markers.ts";
import { nameFault } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl host set`. */
export interface Options {
  readonly marker: HostSetting;
  readonly value: string | boolean;
}

/** Parses the marker and its value. */
export function parseOptions({ args }: Invocation): Result<Options> {
  const given = args.hostname ?? "";
  if (args.marker === "dial_require_key") return parseSwitch(given);
  // The command-line parser accepts only the choices of the verb's row.
  const marker = args.marker as Marker;
  const value = checkMarker(marker, given);
  if (value.ok) return ok({ marker, value: value.value });
  const shown = JSON.stringify(given.slice(0, 80));
  const wanted = nameFault((text) => checkMarker(marker, text), given) ?? "";
  return err(refusal(
    "marker-invalid",
    `Cannot set host.${marker}: the value is ${shown}, ${wanted}, because a host knows that it ` +
      "is the gateway by comparing the marker with its own name",
    { kind: "usage", hints: ["hostname", `fleetctl host set ${marker} --help`] },
  ));
}

/** Parses the switch that refuses clients without a proven key at dial-in. */
function parseSwitch(given: string): Result<Options> {
  const marker = "dial_require_key";
  if (given === "true" || given === "false") return ok({ marker, value: given === "true" });
  const shown = JSON.stringify(given.slice(0, 80));
  return err(refusal(
    "marker-invalid",
    `Cannot set host.${marker}: the value is ${shown}, must be true or false`,
    { kind: "usage", hints: [`fleetctl host set ${marker} true`] },
  ));
}

/** Writes the marker. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return changeMarker(context, options.marker, options.value);
}
