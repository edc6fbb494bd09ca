/**
 * `fleetctl secret recovery add`: adds an offline key that opens the secret store when all hosts
 * have lost their keys. Without an argument it creates a key and prints it once, in the format of
 * `age-keygen`. The key is not stored on this host.
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

/** The public half of an existing key. */
export interface Options {
  readonly recipient: string | undefined;
}

/**
 * Parses the argument. Whether it is a valid recipient is checked later, where age is available.
 */
export function parseOptions({ args }: Invocation): Result<Options> {
  return ok({ recipient: args.recipient?.trim() });
}

/** Adds the key to the readers. Prints the secret half of a key created here. */
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
    // The notes are comments, so that the whole output is a valid key file for age and `secret
    // recover`.
    return ok(linesReport({ recipient, identity, changed }, [
      "# Recovery key of the secret store. It is shown once and kept nowhere: keep it offline, " +
      "0600.",
      "# A host that lost its key: fleetctl secret recover --key - < this file",
      ...(await printIdentities([identity], ports.clock.now())).trimEnd().split("\n"),
    ]));
  });
}
