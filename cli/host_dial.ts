/**
 * The dial key of this host. The first `apply` creates it; root owns it, mode 0600. Its public half
 * is enrolled in the ledger if the host never had one. Idempotent: an existing key is kept, and a
 * revoked key is not enrolled again.
 *
 * @module
 */

import { generateDialKey, parseDialKey } from "core/dial/proof.ts";
import type { LedgerAuthor } from "core/ledger/agents.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { parseHostShard } from "core/ledger/host_shard.ts";
import { changeHostKeys } from "core/ledger/hosts.ts";
import type { HostName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** Creates what is missing: the key, and its entry in the ledger. */
export async function ensureHostDialKey(
  ports: LedgerPorts,
  paths: Paths,
  { hostname, ...author }: LedgerAuthor & { readonly hostname: HostName },
): Promise<Result<void>> {
  const { files } = ports;
  let key = await readHostDialKey(files, paths);
  if (!key.ok) return key;
  if (key.value === undefined) {
    const made = await generateDialKey();
    await files.ensureDir(paths.etc);
    await files.write(paths.hostDialKey, made.stored, { mode: 0o600 });
    key = ok(made.key.publicKey);
  }
  const path = paths.hostShard(hostname);
  const shard = await files.readText(path);
  const record = parseHostShard(shard, hostname, { file: `hosts.d/${hostname}.yaml`, path });
  // A damaged file is reported with the facts. It must not stop this host from following its
  // ledger.
  if (!record.ok || record.value.dialKeys !== undefined) return ok(undefined);
  const own = key.value ?? "";
  const done = await changeHostKeys(ports, paths, {
    ...author,
    host: hostname,
    summary: `dial key ${own} of host "${hostname}"`,
    decide: (keys) => ok(keys ?? [own]),
  });
  return done.ok ? ok(undefined) : done;
}

/** Reads the public half; undefined when there is no key yet. */
export async function readHostDialKey(
  files: Pick<Files, "readText">,
  paths: Paths,
): Promise<Result<string | undefined>> {
  const stored = await files.readText(paths.hostDialKey);
  if (stored === undefined) return ok(undefined);
  const key = await parseDialKey(stored);
  if (key.ok) return ok(key.value.publicKey);
  return err(refusal(
    "host-dial-key-damaged",
    `Cannot use the dial key "${paths.hostDialKey}": it is damaged, must be the original file`,
    { hints: [`mv ${paths.hostDialKey} ${paths.hostDialKey}.damaged`, "fleetctl apply"] },
  ));
}
