/**
 * `fleetctl approvals deny <id>`: decides about one call that waits. Everything else is
 * `cli/approvals/decide.ts`.
 *
 * @module
 */

import * as shared from "cli/approvals/decide.ts";
import type { Command, VerbContext } from "cli/context.ts";

/** Parses the arguments. */
export const parseOptions: Command<shared.Options>["parseOptions"] = shared.parseOptions;

/** Decides. */
export function run(context: VerbContext, options: shared.Options) {
  return shared.run(context, options);
}
