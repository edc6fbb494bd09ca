/**
 * `fleetctl secret recovery copy`: prints a copy of ledger, secret store and settings of this host,
 * sealed to the recovery keys. `secret recover --copy` reads it on another host. The package runs
 * it before its removal, so that a purge leaves a copy. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { readFleetFiles } from "cli/fleet_files.ts";
import { verbatimReport, type VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { readHostKey } from "core/secrets/host_key.ts";
import { parseRecipients } from "core/secrets/recipients.ts";
import { RECOVERY_LABEL } from "core/secrets/recovery.ts";
import { COPY_LENGTH_MAX, sealCopy } from "core/secrets/sealed_copy.ts";
import { openText } from "core/secrets/store.ts";

/** The verb has no options. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: there are none. */
export function parseOptions(): Result<Options> {
  return ok({});
}

/** Prints the copy. */
export async function run({ ports, paths }: VerbContext): Promise<Result<VerbReport>> {
  const { files, clock, hostname } = ports;
  const listed = parseRecipients(await files.readText(paths.recipientsFile), paths.recipientsFile);
  if (!listed.ok) return listed;
  const recovery = listed.value.filter(({ label }) => label === RECOVERY_LABEL)
    .map(({ recipient }) => recipient);
  const held = await heldSecrets({ ports, paths });
  // A listed key opens the store only after the store was encrypted to it.
  const readers = recovery.filter((each) => held?.recipients.includes(each) ?? true);
  if (readers.length === 0) {
    const count = held?.count ?? "an unknown number of";
    return err(refusal(
      "recovery-key-missing",
      `Cannot write a sealed copy of ${count} secrets: no recovery key opens the store, ` +
        "at least one must",
      { hints: [recovery.length > 0 ? "fleetctl secret rewrap" : "fleetctl secret recovery add"] },
    ));
  }
  const copied = await readFleetFiles(files, paths);
  const length = copied.reduce((sum, { text }) => sum + text.length, 0);
  if (length > COPY_LENGTH_MAX) {
    return err(refusal(
      "sealed-copy-too-large",
      `Cannot write a sealed copy: its files have ${length} characters, must be at most ` +
        `${COPY_LENGTH_MAX}`,
      { hints: [`du -a ${paths.repo}`] },
    ));
  }
  const sealed = await sealCopy({ host: hostname, made: clock.now(), files: copied }, readers);
  return ok(verbatimReport({ copy: sealed, files: copied.length }, sealed.trimEnd().split("\n")));
}

/**
 * Returns the number of secrets and the readers of the store; undefined if this host cannot open
 * it.
 */
async function heldSecrets(
  { ports, paths }: Pick<VerbContext, "ports" | "paths">,
): Promise<{ readonly count: number; readonly recipients: readonly string[] } | undefined> {
  const sealed = await ports.files.readText(paths.secretsFile);
  if (sealed === undefined) return { count: 0, recipients: [] };
  const key = await readHostKey(ports, paths);
  if (!key.ok || key.value === undefined) return undefined;
  const opened = await openText(paths, sealed, key.value);
  if (!opened.ok) return undefined;
  const { shared, agents } = opened.value.shards;
  const count = [...agents.values()].reduce((sum, shard) => sum + shard.size, shared.size);
  return { count, recipients: opened.value.recipients };
}
