/**
 * `fleetctl secret recover`: creates a new key for a host that lost its own, with the offline
 * recovery key. With `--copy FILE` the host first receives the fleet of a sealed copy: ledger and
 * secrets. The recovery key arrives over stdin or a prompt, is used once and is not stored.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { ensureState } from "cli/facts.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { authorOf, hostInputs, underVerbLock } from "cli/planner.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { recoverHostKey } from "core/secrets/recovery.ts";
import { restoreCopy } from "core/secrets/restore_copy.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The recovery key itself is the context's secret value. */
export interface Options {
  readonly copy: string | undefined;
}

/** Parses the options. */
export function parseOptions({ options }: Invocation): Result<Options> {
  return ok({ copy: options.copy });
}

/** Opens the store with the recovery key and creates a new key for this host. */
export async function run(
  context: VerbContext,
  { copy }: Options,
): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  if (copy !== undefined) return await restore(context, copy);
  return await underVerbLock(context, async () => {
    const done = await recoverHostKey(ports, paths, {
      ...authorOf(context, "secret recover"),
      hostname: ports.hostname,
      recoveryKey: context.secretValue ?? "",
    });
    if (!done.ok) return done;
    return ok(linesReport({ commit: done.value.commit }, [
      `recovered  host "${ports.hostname}" opens the secret store with a new key, ${paths.hostKey}`,
      "the lost key no longer opens the store; now run:",
      "  fleetctl apply",
    ]));
  });
}

async function restore(context: VerbContext, given: string): Promise<Result<VerbReport>> {
  const { ports, paths, cwd } = context;
  const path = given.startsWith("/") ? given : `${cwd}/${given}`;
  const sealed = await ports.files.readText(path);
  if (sealed === undefined) {
    return err(refusal(
      "sealed-copy-missing",
      `Cannot restore the sealed copy "${path}": there is no such file`,
      { kind: "usage", hints: ["ls -l /var/backups"] },
    ));
  }
  return await underVerbLock(context, async () => {
    const author = authorOf(context, "secret recover");
    const state = await ensureState(ports, hostInputs(context), author);
    if (!state.ok) return state;
    const done = await restoreCopy(ports, paths, {
      ...author,
      hostname: ports.hostname,
      recoveryKey: context.secretValue ?? "",
      sealed,
    });
    if (!done.ok) return done;
    const { from, made, agents, secrets, keptSettings, commit } = done.value;
    const at = new Date(made).toISOString();
    return ok(linesReport({ from, made: at, agents, secrets, kept: keptSettings, commit }, [
      `restored  ${agents} agents and ${secrets} secrets of host "${from}", as they were at ${at}`,
      ...keptSettings.map((file) => `kept  ${file}, which differs from the copy`),
      "now run:",
      "  fleetctl apply",
    ]));
  });
}
