/**
 * The gateway's client of the ledger. It runs `agents key enroll` through the root daemon, which
 * lets the gateway enroll first keys (docs/adr/0010-dial-keys-in-the-ledger.md).
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok } from "core/result.ts";
import type { VerbRunner } from "gateway/daemon_verbs.ts";
import type { EnrollKey } from "gateway/dial/key_forwarder.ts";

/** Creates the client. */
export function ledgerClient(verbs: VerbRunner): EnrollKey {
  return {
    enroll: async ({ agent, key }, signal) => {
      const done = await verbs.run({
        what: `enroll a dial key of agent "${agent}"`,
        argv: ["agents", "key", "enroll", "--first", "--json", "--", agent, key],
        signal,
      });
      // Refusals about the daemon itself pass unchanged; all others concern this key.
      if (done.ok) return ok(undefined);
      if (done.error.code.startsWith("daemon-")) return done;
      return err(refusal(
        "dial-key-not-taken",
        `Cannot enroll a dial key of agent "${agent}": ${done.error.message}`,
        { hints: [`fleetctl agents key list ${agent}`] },
      ));
    },
  };
}
