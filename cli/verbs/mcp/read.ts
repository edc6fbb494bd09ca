/**
 * `fleetctl mcp read <mcp> <tool> [<agent>]`: calls one tool. An admin may call it for another
 * agent. The code is in `cli/mcp/call_tool.ts`.
 *
 * @module
 */

import type { Command, VerbContext } from "cli/context.ts";
import * as shared from "cli/mcp/call_tool.ts";

/** Parses the arguments. */
export const parseOptions: Command<shared.Options>["parseOptions"] = shared.parseOptions;

/** Calls the tool. */
export function run(context: VerbContext, options: shared.Options) {
  return shared.run(context, options);
}
