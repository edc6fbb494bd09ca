/**
 * `fleetctl webview-login pins list`: the account of the OpenID provider to which each address is
 * pinned. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { printTime, withStore } from "cli/webview_login/store.ts";
import { ok, type Result } from "core/result.ts";

/** The verb has no options. */
export type Options = Readonly<Record<string, never>>;

/** Returns no options: there are none. */
export function parseOptions(): Result<Options> {
  return ok({});
}

/** Reads the store. */
export async function run(context: VerbContext): Promise<Result<VerbReport>> {
  return await withStore(context, (store) => {
    const pins = store?.pins.list() ?? [];
    return ok({
      json: {
        pins: pins.map(({ address, issuer, subject, created }) => ({
          address,
          issuer,
          subject,
          since: printTime(created),
        })),
      },
      blocks: [{
        kind: "table",
        columns: ["address", "issuer", "subject", "since"],
        rows: pins.map((pin) => [pin.address, pin.issuer, pin.subject, printTime(pin.created)]),
        empty: "No address is pinned: no one has signed in with an OpenID provider yet",
      }],
    });
  });
}
