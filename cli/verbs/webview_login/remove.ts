/**
 * `fleetctl webview-login remove`: removes the login proxy from this host. It never has pending
 * work. Sessions are kept, so people stay signed in when it is installed again.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { type Options, parseRemoval, removeRole } from "cli/remove_role.ts";
import type { Result } from "core/result.ts";
import { LOGIN_UNIT } from "units/render/unit_name.ts";

export type { Options } from "cli/remove_role.ts";
export const parseOptions = parseRemoval;

/** Removes the role. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return removeRole(context, {
    section: "login",
    command: "webview-login",
    noun: "the login proxy",
    units: [LOGIN_UNIT],
    state: [context.paths.role("login")],
    holds: "sessions and pinned identities",
    refusal: () => Promise.resolve(undefined),
  }, options);
}
