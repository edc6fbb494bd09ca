/**
 * `fleetctl secret recovery add`: an offline key that opens the secret store when the keys of all
 * hosts are gone. Without an argument a key is made and printed, once, in the form of `age-keygen`;
 * it is kept nowhere on this host.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { authorOf, underVerbLock } from "cli/planner.ts";
import { ok, type Result } from "core/result.ts";
import { freshHostKey, printIdentities } from "core/secrets/host_key.ts";
import { addRecovery } from "core/secrets/recovery.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The public half of a key made elsewhere. */
export interface Options {
  readonly recipient: string | undefined;
}

/** Parses the argument; whether it is a recipient is found out where age is. */
export function parseOptions({ args }: Invocation): Result<Options> {
  return ok({ recipient: args.recipient?.trim() });
}

/** Adds the key to the readers, and prints the secret half of one that was made here. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  return await underVerbLock(context, async () => {
    const made = options.recipient === undefined ? await freshHostKey() : undefined;
    const recipient = made?.recipient ?? options.recipient ?? "";
    const done = await addRecovery(ports, paths, {
      recipient,
      ...authorOf(context, "secret recovery add"),
    });
    if (!done.ok) return done;
    const changed = done.value.changed.length > 0;
    const [identity] = made?.identities ?? [];
    if (identity === undefined) {
      return ok(linesReport(
        { recipient, changed },
        [`${changed ? "added" : "unchanged"}  recovery key ${recipient}`],
      ));
    }
    // Comments, so that the output as a whole is a key file for age and for secret recover.
    return ok(linesReport({ recipient, identity, changed }, [
      "# Recovery key of the secret store. It is shown once and kept nowhere: keep it offline, " +
      "0600.",
      "# A host that lost its key: fleetctl secret recover --key - < this file",
      ...(await printIdentities([identity], ports.clock.now())).trimEnd().split("\n"),
    ]));
  });
}
