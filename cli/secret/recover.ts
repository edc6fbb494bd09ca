/**
 * `fleetctl secret recover`: a new key for a host whose own is gone, with the offline recovery key.
 * The recovery key arrives over stdin or a prompt, is used once and is stored nowhere.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { authorOf, underVerbLock } from "cli/planner.ts";
import { ok, type Result } from "core/result.ts";
import { recoverHostKey } from "core/secrets/recovery.ts";

/** There is nothing but the key, which is the context's secret value. */
export type Options = Readonly<Record<never, never>>;

/** Parses nothing. */
export function parseOptions(): Result<Options> {
  return ok({});
}

/** Opens the store with the recovery key and gives this host a key of its own. */
export async function run(context: VerbContext): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  return await underVerbLock(context, async () => {
    const done = await recoverHostKey(ports, paths, {
      ...authorOf(context, "secret recover"),
      hostname: ports.hostname,
      recoveryKey: context.secretValue ?? "",
    });
    if (!done.ok) return done;
    return ok(linesReport({ commit: done.value.commit }, [
      `recovered  host "${ports.hostname}" opens the secret store with a new key, ${paths.hostKey}`,
      "the lost key opens the store no longer; now run:",
      "  fleetctl apply",
    ]));
  });
}
