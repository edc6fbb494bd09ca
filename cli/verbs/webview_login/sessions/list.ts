/**
 * `fleetctl webview-login sessions list [email]`: the browser sessions of this host, without
 * anything that could open one. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { type AddressOption, parseAddress, printTime, withStore } from "cli/webview_login/store.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Parses the address. */
export function parseOptions(invocation: Invocation): Result<AddressOption> {
  return parseAddress(invocation);
}

/** Reads the store. */
export async function run(
  context: VerbContext,
  { email }: AddressOption,
): Promise<Result<VerbReport>> {
  const now = context.ports.clock.now();
  return await withStore(context, (store) => {
    const sessions = (store?.list(email) ?? []).filter(({ expires }) => expires > now);
    return ok({
      json: {
        sessions: sessions.map(({ principal, created, expires, client, agent }) => ({
          principal,
          since: printTime(created),
          until: printTime(expires),
          client,
          user_agent: agent,
        })),
      },
      blocks: [{
        kind: "table",
        columns: ["address", "since", "until", "client", "browser"],
        rows: sessions.map(({ principal, created, expires, client, agent }) => [
          principal,
          printTime(created),
          printTime(expires),
          client,
          agent,
        ]),
        empty: "There are no sessions",
      }],
    });
  });
}
