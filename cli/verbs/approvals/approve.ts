/**
 * `fleetctl approvals approve <id>`: approves one waiting call. The code is in
 * `cli/approvals/decide.ts`.
 *
 * @module
 */

import * as shared from "cli/approvals/decide.ts";
import type { Command, VerbContext } from "cli/context.ts";

/** Parses the arguments. */
export const parseOptions: Command<shared.Options>["parseOptions"] = shared.parseOptions;

/** Approves the call. */
export function run(context: VerbContext, options: shared.Options) {
  return shared.run(context, options);
}
