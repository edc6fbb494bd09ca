/**
 * First set-up of the secrets of a host: its age identity, its line among the recipients, an empty
 * store and the keys that the roles sign with. Level-based: it makes what is missing and leaves the
 * rest alone, so that it may be run at each start; an unreadable store is refused and kept.
 *
 * @module
 */

import { toBase64Url } from "core/crypto/signed_value.ts";
import { refusal } from "core/errors.ts";
import { fileRefusal } from "core/ledger/file_refusal.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { commitChange, lastCommitOf } from "core/ledger/repository.ts";
import type { HostName, KeyName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRecipient, seal } from "core/secrets/envelope.ts";
import { createHostKey, type HostKey, readHostKey } from "core/secrets/host_key.ts";
import { addRecipient } from "core/secrets/recipients.ts";
import { HOST_OP_KEYS } from "core/secrets/resolve.ts";
import {
  NO_SECRETS,
  printStore,
  type SecretShards,
  type StoreText,
  withSecret,
} from "core/secrets/shards.ts";
import { openSecrets, openText, type SecretAuthor, type SecretStore } from "core/secrets/store.ts";

/** Keys that every host with roles needs: 32 random bytes each. */
export const ROLE_KEYS = ["WEBVIEW_HMAC_KEY", "WEBVIEW_ASSERTION_KEY", ...HOST_OP_KEYS] as const;
const ROLE_KEY_BYTES = 32;

/** What a set-up is told. */
export interface InitOptions extends SecretAuthor {
  readonly hostname: HostName;
  /** An offline age recipient that can open the store when every host is gone. */
  readonly recoveryRecipient?: string;
}

/** Creates what is missing and opens the store. The ledger is there (`initRepo`). */
export async function initSecrets(
  ports: LedgerPorts & { readonly random: Random },
  paths: Paths,
  options: InitOptions,
): Promise<Result<SecretStore>> {
  const { recoveryRecipient } = options;
  if (recoveryRecipient !== undefined && !isRecipient(recoveryRecipient)) {
    return err(refusal(
      "recipient-invalid",
      "Cannot add the recovery recipient: it is not an age recipient, must be age1…",
      { kind: "usage", hints: ["age-keygen -o recovery.key"] },
    ));
  }
  try {
    const key = await ensureHostKey(ports, paths);
    if (!key.ok) return key;
    const made = await commitChange(ports, paths, {
      verb: options.verb,
      caller: options.caller,
      summary: `secrets of host "${options.hostname}"`,
      edits: [
        {
          path: paths.recipientsFile,
          mode: 0o644,
          change: (text) => {
            const listed = withHost(text, key.value, options.hostname);
            return ok(
              recoveryRecipient === undefined
                ? listed
                : addRecipient(listed, { recipient: recoveryRecipient, label: "recovery" }),
            );
          },
        },
        {
          path: paths.secretsFile,
          adopts: true,
          change: (sealed) => completeStore(ports, paths, { sealed, key: key.value, options }),
        },
      ],
    });
    return made.ok ? await openSecrets(ports, paths) : made;
  } catch (thrown) {
    return err(fileRefusal(thrown, "create the secret store"));
  }
}

/** A host of which one key is listed is listed: another of its keys may be on its way in or out. */
function withHost(text: string | undefined, key: HostKey, hostname: HostName): string {
  const lines = (text ?? "").split("\n").map((line) => line.trim());
  return key.recipients.some((each) => lines.includes(each))
    ? text ?? ""
    : addRecipient(text, { recipient: key.recipient, label: `host ${hostname}` });
}

async function ensureHostKey(ports: LedgerPorts, paths: Paths): Promise<Result<HostKey>> {
  await ports.files.ensureDir(paths.locks, { mode: 0o700 });
  const lock = await ports.files.lock(`${paths.locks}/host-key.lock`);
  try {
    const key = await readHostKey(ports, paths);
    if (!key.ok) return key;
    return ok(key.value ?? await createHostKey(ports.files, paths, ports.clock.now()));
  } finally {
    await lock.release();
  }
}

async function completeStore(
  ports: LedgerPorts & { readonly random: Random },
  paths: Paths,
  { sealed, key, options }: {
    readonly sealed: string | undefined;
    readonly key: HostKey;
    readonly options: InitOptions;
  },
): Promise<Result<string>> {
  const { recoveryRecipient } = options;
  let store: StoreText = {
    shards: NO_SECRETS,
    recipients: [key.recipient, ...(recoveryRecipient === undefined ? [] : [recoveryRecipient])],
  };
  if (sealed !== undefined) {
    const opened = await openText(paths, sealed, key);
    if (!opened.ok) return opened;
    store = opened.value;
  } else {
    const absent = await checkNeverThere(ports, paths);
    if (!absent.ok) return absent;
  }
  const shards = withRoleKeys(ports.random, store.shards);
  if (!shards.ok) return shards;
  const recipients = recoveryRecipient === undefined || store.recipients.includes(recoveryRecipient)
    ? store.recipients
    : [...store.recipients, recoveryRecipient];
  const isComplete = shards.value === store.shards && recipients === store.recipients;
  if (sealed !== undefined && isComplete) return ok(sealed);
  return ok(await seal(printStore({ shards: shards.value, recipients }), recipients));
}

/** A store that was there and is gone is brought back, not made anew without its secrets. */
async function checkNeverThere(ports: LedgerPorts, paths: Paths): Promise<Result<void>> {
  const last = await lastCommitOf(ports, paths, paths.secretsFile);
  if (!last.ok) return last;
  return last.value === undefined ? ok(undefined) : err(refusal(
    "store-missing",
    `Cannot create the secret store: "${paths.secretsFile}" was there and is gone`,
    { hints: [`git -C ${paths.repo} checkout ${last.value} -- secrets.age`] },
  ));
}

/** Returns the very same shards when no role key is missing. */
function withRoleKeys(random: Random, shards: SecretShards): Result<SecretShards> {
  let next = shards;
  for (const name of ROLE_KEYS) {
    const key = name as string as KeyName;
    // A key that is there and empty could not be read where it was written: the roles keep the
    // files that they have until somebody looks.
    if (next.shared.has(key)) continue;
    const added = withSecret(next, { key }, toBase64Url(random.bytes(ROLE_KEY_BYTES)));
    if (!added.ok) return added;
    next = added.value;
  }
  return ok(next);
}
