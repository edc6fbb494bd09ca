/**
 * Restores a sealed copy of a fleet on an empty host. It writes the ledger as one commit and
 * re-encrypts the store to this host in place of the lost one. It adds only the settings that this
 * host does not have.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { fileRefusal } from "core/ledger/file_refusal.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { commitChange } from "core/ledger/repository.ts";
import type { HostName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { seal } from "core/secrets/envelope.ts";
import { createHostKey, type HostKey, readHostKey } from "core/secrets/host_key.ts";
import { ROLE_KEYS } from "core/secrets/init.ts";
import { addRecipient, dropRecipients, parseRecipients } from "core/secrets/recipients.ts";
import { parseRecoveryKey } from "core/secrets/recovery.ts";
import { type FleetCopy, openCopy } from "core/secrets/sealed_copy.ts";
import { printStore, type StoreText } from "core/secrets/shards.ts";
import { openText, type SecretAuthor } from "core/secrets/store.ts";

/** The result of a restore. */
export interface Restored {
  readonly from: HostName;
  readonly made: number;
  readonly commit: string;
  readonly agents: number;
  readonly secrets: number;
  /** Settings of this host that were kept, although those in the copy differ. */
  readonly keptSettings: readonly string[];
}

/** Restores a copy; refuses when this host already has agents or secrets. */
export async function restoreCopy(
  ports: LedgerPorts,
  paths: Paths,
  { hostname, recoveryKey, sealed, ...author }: SecretAuthor & {
    readonly hostname: HostName;
    readonly recoveryKey: string;
    readonly sealed: string;
  },
): Promise<Result<Restored>> {
  try {
    const recovery = await parseRecoveryKey(recoveryKey);
    if (!recovery.ok) return recovery;
    const copy = await openCopy(sealed, recovery.value.identities);
    if (!copy.ok) return copy;
    const text = (path: string) =>
      copy.value.files.find((file) => paths.at(`/${file.path}`) === path)?.text;
    const store = await openText(
      paths,
      text(paths.secretsFile) ?? "",
      recovery.value,
      "the recovery key",
    );
    if (!store.ok) return store;
    const empty = await checkEmpty(ports, paths);
    if (!empty.ok) return empty;
    const own = empty.value ?? await createHostKey(ports.files, paths, ports.clock.now());
    const committed = await commitCopy(ports, paths, {
      copy: copy.value,
      store: store.value,
      own,
      hostname,
      author,
      recipients: text(paths.recipientsFile),
    });
    if (!committed.ok) return committed;
    const { shared, agents } = store.value.shards;
    return ok({
      from: copy.value.host,
      made: copy.value.made,
      commit: committed.value,
      agents: copy.value.files.filter(({ path }) => path.includes("/agents.d/")).length,
      secrets: [...agents.values()].reduce((sum, shard) => sum + shard.size, shared.size),
      keptSettings: await writeSettings(ports, paths, copy.value),
    });
  } catch (thrown) {
    return err(fileRefusal(thrown, "restore the sealed copy"));
  }
}

/** Returns the host's own key, if it exists; refuses when the host has agents or secrets. */
async function checkEmpty(
  ports: LedgerPorts,
  paths: Paths,
): Promise<Result<HostKey | undefined>> {
  const { files } = ports;
  const shards = await files.stat(paths.agentsDir) === undefined
    ? []
    : (await files.list(paths.agentsDir)).filter((name) => name.endsWith(".yaml"));
  const key = await readHostKey(ports, paths);
  if (!key.ok) return key;
  const sealed = await files.readText(paths.secretsFile);
  const opened = sealed === undefined || key.value === undefined
    ? undefined
    : await openText(paths, sealed, key.value);
  if (opened?.ok === false) return opened;
  const secrets = opened === undefined ? 0 : ownSecrets(opened.value);
  return shards.length + secrets === 0 ? key : err(refusal(
    "restore-not-empty",
    `Cannot restore the sealed copy: this host already has ${shards.length} agents and ` +
      `${secrets} secrets, must have none`,
    { hints: ["fleetctl agents list", "fleetctl secret list"] },
  ));
}

/**
 * Counts the secrets that a user has set, without the role keys that `apply` creates on every host.
 */
function ownSecrets({ shards }: StoreText): number {
  const made: readonly string[] = ROLE_KEYS;
  const shared = [...shards.shared.keys()].filter((key) => !made.includes(key)).length;
  return [...shards.agents.values()].reduce((sum, shard) => sum + shard.size, shared);
}

async function commitCopy(
  ports: LedgerPorts,
  paths: Paths,
  of: {
    readonly copy: FleetCopy;
    readonly store: StoreText;
    readonly own: HostKey;
    readonly hostname: HostName;
    readonly author: SecretAuthor;
    readonly recipients: string | undefined;
  },
): Promise<Result<string>> {
  const { copy, store, own, hostname } = of;
  const listed = parseRecipients(of.recipients, paths.recipientsFile);
  if (!listed.ok) return listed;
  const gone = listed.value.filter(({ label }) =>
    label === `host ${copy.host}` || label === `host ${hostname}`
  ).map(({ recipient }) => recipient);
  const readers = [
    ...store.recipients.filter((recipient) => !gone.includes(recipient)),
    own.recipient,
  ];
  const plain = copy.files.filter(({ path }) =>
    path.startsWith("var/") && !/\/(?:recipients|secrets\.age)$/.test(path)
  );
  for (const { path } of plain) {
    const folder = paths.at(`/${path.slice(0, path.lastIndexOf("/"))}`);
    await ports.files.ensureDir(folder, { mode: folder === paths.agentsDir ? 0o700 : 0o755 });
  }
  const committed = await commitChange(ports, paths, {
    ...of.author,
    summary: `the fleet of host "${copy.host}" from a sealed copy`,
    edits: [
      ...plain.map(({ path, text }) => ({
        path: paths.at(`/${path}`),
        mode: path.includes("/agents.d/") ? 0o600 : 0o644,
        change: () => ok(text),
      })),
      {
        path: paths.recipientsFile,
        mode: 0o644,
        change: () =>
          ok(addRecipient(dropRecipients(of.recipients, gone), {
            recipient: own.recipient,
            label: `host ${hostname}`,
          })),
      },
      {
        path: paths.secretsFile,
        adopts: true,
        change: async () => ok(await seal(printStore({ ...store, recipients: readers }), readers)),
      },
    ],
  });
  return committed.ok ? ok(committed.value.commit) : committed;
}

/**
 * Writes settings below /etc/fleetctl. Existing ones stay, because an operator set them. Returns
 * the paths of those that differ.
 */
async function writeSettings(
  { files }: LedgerPorts,
  paths: Paths,
  copy: FleetCopy,
): Promise<readonly string[]> {
  const kept: string[] = [];
  for (const { path, text } of copy.files) {
    if (!path.startsWith("etc/")) continue;
    const to = paths.at(`/${path}`);
    const now = await files.readText(to);
    if (now !== undefined && now !== text) kept.push(to);
    if (now !== undefined) continue;
    await files.ensureDir(to.slice(0, to.lastIndexOf("/")), { mode: 0o755 });
    await files.write(to, text, { mode: 0o644 });
  }
  return kept;
}
