/**
 * Recovery of access to the store.
 * - An offline recovery key, for the loss of all host keys.
 * - A new key for a host that lost its own.
 * - A new key for a host that still has its old one.
 *
 * Each change of the readers is one commit of `recipients` and `secrets.age` together.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { fileRefusal } from "core/ledger/file_refusal.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { commitChange, type Committed } from "core/ledger/repository.ts";
import type { HostName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRecipient, recipientOf, seal } from "core/secrets/envelope.ts";
import {
  freshHostKey,
  type HostKey,
  hostKeyRefusal,
  readHostKey,
  writeHostKey,
} from "core/secrets/host_key.ts";
import { addRecipient, dropRecipients, parseRecipients } from "core/secrets/recipients.ts";
import { printStore } from "core/secrets/shards.ts";
import { missingStore, openText, type SecretAuthor } from "core/secrets/store.ts";

/** Label of a recovery key's line. */
export const RECOVERY_LABEL = "recovery";

/** A change of the store's readers. */
interface ReaderChange {
  /** Opens the store. */
  readonly key: HostKey;
  readonly added: { readonly recipient: string; readonly label: string };
  /** Recipients that lose their entry and their access. */
  readonly dropped: readonly string[];
  readonly summary: string;
}

/** Gives an offline key access to the store; this host must be able to read it. */
export async function addRecovery(
  ports: LedgerPorts,
  paths: Paths,
  { recipient, ...author }: SecretAuthor & { readonly recipient: string },
): Promise<Result<Committed>> {
  if (!isRecipient(recipient)) {
    return err(refusal(
      "recipient-invalid",
      "Cannot add the recovery key: it is not an age recipient, must be age1…",
      { kind: "usage", hints: ["age-keygen -o recovery.key", "fleetctl secret recovery add"] },
    ));
  }
  return await guarded("add a recovery key", async () => {
    const key = await requireHostKey(ports, paths);
    if (!key.ok) return key;
    return await changeReaders(ports, paths, author, {
      key: key.value,
      added: { recipient, label: RECOVERY_LABEL },
      dropped: [],
      summary: "a recovery key",
    });
  });
}

/**
 * Replaces the key of this host, which opens the store with the old one. Both keys stay in the file
 * until the store is written, so that no crash can lock the host out. A second call completes an
 * interrupted first one.
 */
export async function rotateHostKey(
  ports: LedgerPorts,
  paths: Paths,
  { hostname, ...author }: SecretAuthor & { readonly hostname: HostName },
): Promise<Result<Committed>> {
  return await guarded("replace the host key", async () => {
    const old = await requireHostKey(ports, paths);
    if (!old.ok) return old;
    const fresh = await freshHostKey();
    const write = (identities: readonly string[]) =>
      writeHostKey(ports.files, paths, { identities, nowMs: ports.clock.now() });
    const changed = await changeReaders(ports, paths, author, {
      key: old.value,
      added: { recipient: fresh.recipient, label: `host ${hostname}` },
      dropped: old.value.recipients,
      summary: `the key of host "${hostname}"`,
      beforeCommit: () => write([...old.value.identities, ...fresh.identities]),
    });
    // After a late refusal both keys stay, because the next change may still complete this one.
    if (changed.ok) await write(fresh.identities);
    return changed;
  });
}

/** Gives this host a new key. A recovery key opens the store in place of the lost key. */
export async function recoverHostKey(
  ports: LedgerPorts,
  paths: Paths,
  { hostname, recoveryKey, ...author }: SecretAuthor & {
    readonly hostname: HostName;
    /** Text of an age identity file. */
    readonly recoveryKey: string;
  },
): Promise<Result<Committed>> {
  return await guarded("recover the host key", async () => {
    const given = await parseRecoveryKey(recoveryKey);
    if (!given.ok) return given;
    const sealed = await ports.files.readText(paths.secretsFile);
    if (sealed === undefined) return err(missingStore(paths));
    const own = await readHostKey(ports, paths);
    if (own.ok && own.value !== undefined && (await openText(paths, sealed, own.value)).ok) {
      return err(refusal(
        "host-key-works",
        `Cannot recover the host key "${paths.hostKey}": it can already open the secret store`,
        { hints: ["fleetctl secret rotate recipient"] },
      ));
    }
    const opened = await openText(paths, sealed, given.value, "the recovery key");
    if (!opened.ok) return opened;
    const listed = parseRecipients(
      await ports.files.readText(paths.recipientsFile),
      paths.recipientsFile,
    );
    if (!listed.ok) return listed;
    const label = `host ${hostname}`;
    const fresh = await freshHostKey();
    // The old key file is kept beside the new one: its key may still be used for something else.
    await keepOldKey(ports, paths);
    const changed = await changeReaders(ports, paths, author, {
      key: given.value,
      added: { recipient: fresh.recipient, label },
      dropped: listed.value.filter((each) => each.label === label).map((each) => each.recipient),
      summary: `the key of host "${hostname}"`,
      beforeCommit: () =>
        writeHostKey(ports.files, paths, {
          identities: fresh.identities,
          nowMs: ports.clock.now(),
        }),
    });
    return changed;
  });
}

async function changeReaders(
  ports: LedgerPorts,
  paths: Paths,
  author: SecretAuthor,
  change: ReaderChange & { readonly beforeCommit?: () => Promise<void> },
): Promise<Result<Committed>> {
  const { key, added, dropped, summary } = change;
  return await commitChange(ports, paths, {
    ...author,
    summary,
    accept: async () => {
      await change.beforeCommit?.();
      return ok(undefined);
    },
    edits: [
      {
        path: paths.recipientsFile,
        mode: 0o644,
        change: (text) => {
          const listed = parseRecipients(text, paths.recipientsFile);
          return listed.ok ? ok(addRecipient(dropRecipients(text, dropped), added)) : listed;
        },
      },
      {
        path: paths.secretsFile,
        adopts: true,
        change: async (sealed) => {
          if (sealed === undefined) return err(missingStore(paths));
          const store = await openText(paths, sealed, key);
          if (!store.ok) return store;
          const stay = store.value.recipients.filter((each) => !dropped.includes(each));
          if (stay.includes(added.recipient) && stay.length === store.value.recipients.length) {
            return ok(sealed);
          }
          const recipients = [...new Set([...stay, added.recipient])];
          return ok(await seal(printStore({ ...store.value, recipients }), recipients));
        },
      },
    ],
  });
}

async function requireHostKey(ports: LedgerPorts, paths: Paths): Promise<Result<HostKey>> {
  const key = await readHostKey(ports, paths);
  if (!key.ok) return key;
  return key.value === undefined ? err(hostKeyRefusal(paths, "it does not exist")) : ok(key.value);
}

/** Parses the text of an age identity file. */
export async function parseRecoveryKey(text: string): Promise<Result<HostKey>> {
  const identities = text.split("\n").map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  const recipients = await Promise.all(identities.map((identity) => recipientOf(identity)));
  const known = recipients.filter((each) => each !== undefined);
  const [recipient] = known;
  return recipient === undefined || known.length !== identities.length
    ? err(refusal(
      "recovery-key-invalid",
      "Cannot use the recovery key: it is not a list of age identities, must be AGE-SECRET-KEY-1…",
      { kind: "usage", hints: ["fleetctl secret recover --key - < recovery.key"] },
    ))
    : ok({ identities, recipients: known, recipient });
}

async function keepOldKey({ files, clock }: LedgerPorts, paths: Paths): Promise<void> {
  const text = await files.readText(paths.hostKey);
  if (text === undefined) return;
  await files.write(`${paths.hostKey}.${clock.now()}.old`, text, { mode: 0o600 });
}

async function guarded(
  action: string,
  work: () => Promise<Result<Committed>>,
): Promise<Result<Committed>> {
  try {
    return await work();
  } catch (thrown) {
    return err(fileRefusal(thrown, action));
  }
}
