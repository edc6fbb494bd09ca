/**
 * The log entry of a call: the tool, the names of its arguments, and the entry point. Argument
 * values are private and are not logged. Pure. The entry is written before the call is sent.
 *
 * @module
 */

import { originText, readOrigin } from "core/mcp/call_origin.ts";
import { isRecord } from "core/text/json_object.ts";

const NAME_LENGTH_MAX = 128;
const ARGUMENTS_MAX = 32;

/** Returns the fields of the entry, from the parameters of a `tools/call`. */
export function callLine(
  params: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const keys = Object.keys(isRecord(params["arguments"]) ? params["arguments"] : {});
  const meta = params["_meta"];
  const own = isRecord(meta) ? meta["fleetctl"] : undefined;
  const origin = isRecord(own) ? readOrigin(own["origin"]) : undefined;
  return {
    tool: String(params["name"]).slice(0, NAME_LENGTH_MAX),
    arguments: keys.slice(0, ARGUMENTS_MAX).map((key) => key.slice(0, NAME_LENGTH_MAX)).join(","),
    ...(origin === undefined ? {} : { origin: originText(origin) }),
  };
}
