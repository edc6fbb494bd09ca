/**
 * First set-up of a host's secrets: its age identity, its entry among the recipients, an empty
 * store, and the signing keys of the roles. Idempotent: it creates what is missing and changes
 * nothing else, so it can run at each start. It refuses an unreadable store and keeps it.
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

/** Options of a set-up. */
export interface InitOptions extends SecretAuthor {
  readonly hostname: HostName;
  /** An offline age recipient that can open the store when all hosts are lost. */
  readonly recoveryRecipient?: string;
}

/** Creates what is missing and opens the store. The ledger must exist (`initRepo`). */
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

/**
 * Adds the host's recipient, unless one of the host's keys is listed. During a replacement the host
 * has two keys, and only the old one may be listed.
 */
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
    const absent = await checkNeverCommitted(ports, paths);
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

/**
 * Refuses a store that existed and is gone: it must be restored, not recreated without its secrets.
 */
async function checkNeverCommitted(ports: LedgerPorts, paths: Paths): Promise<Result<void>> {
  const last = await lastCommitOf(ports, paths, paths.secretsFile);
  if (!last.ok) return last;
  return last.value === undefined ? ok(undefined) : err(refusal(
    "store-missing",
    `Cannot create the secret store: "${paths.secretsFile}" existed before and is missing`,
    { hints: [`git -C ${paths.repo} checkout ${last.value} -- secrets.age`] },
  ));
}

/** Adds missing role keys. Returns the same object when none is missing. */
function withRoleKeys(random: Random, shards: SecretShards): Result<SecretShards> {
  let next = shards;
  for (const name of ROLE_KEYS) {
    const key = name as string as KeyName;
    // An empty key was unreadable when it was written. Keep it: the roles then keep their current
    // files until an operator fixes it.
    if (next.shared.has(key)) continue;
    const added = withSecret(next, { key }, toBase64Url(random.bytes(ROLE_KEY_BYTES)));
    if (!added.ok) return added;
    next = added.value;
  }
  return ok(next);
}
