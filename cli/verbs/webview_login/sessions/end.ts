/**
 * `fleetctl webview-login sessions end <email>`: ends every session of a person, and their open
 * connections, within a second. The person may log in again.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { type AddressOption, parseAddress, withStore } from "cli/webview_login/store.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Parses the address. */
export function parseOptions(invocation: Invocation): Result<AddressOption> {
  return parseAddress(invocation);
}

/** Ends the sessions. */
export async function run(
  context: VerbContext,
  { email = "" }: AddressOption,
): Promise<Result<VerbReport>> {
  return await withStore(context, (store) => {
    const ended = store?.endAll(email) ?? ok(0);
    if (!ended.ok) return ended;
    const line = ended.value === 0
      ? `unchanged  ${email} has no session`
      : `ended  ${ended.value} sessions of ${email}`;
    return ok(linesReport({ address: email, sessions_ended: ended.value }, [line]));
  });
}
