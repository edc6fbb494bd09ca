/**
 * `fleetctl webview-login pins clear <email>`: removes the pin of an address. The next person who
 * signs in with the address is pinned to it. Ends the previous person's sessions and open
 * connections.
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

/** Removes the pin, then ends the sessions that relied on it. */
export async function run(
  context: VerbContext,
  { email = "" }: AddressOption,
): Promise<Result<VerbReport>> {
  return await withStore(context, (store) => {
    const cleared = store?.pins.clear(email) ?? ok(false);
    if (!cleared.ok) return cleared;
    if (!cleared.value) {
      const line = `unchanged  ${email} has no pin`;
      return ok(linesReport({ address: email, sessions_ended: 0 }, [line]));
    }
    const ended = store?.endAll(email) ?? ok(0);
    if (!ended.ok) return ended;
    return ok(linesReport({ address: email, sessions_ended: ended.value }, [
      `cleared  pin of ${email}`,
      `ended  ${ended.value} sessions`,
    ]));
  });
}
