/**
 * The secret store on disk: `secrets.age` in the ledger, opened with this host's key. Reads need no
 * lock, because the file is replaced as a whole. Each write rereads it under the lock of the
 * ledger, encrypts it to its readers, and makes one commit.
 *
 * An unreadable store is refused and never overwritten.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { fileRefusal } from "core/ledger/file_refusal.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { commitChange, type Committed } from "core/ledger/repository.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { seal, unseal } from "core/secrets/envelope.ts";
import { type HostKey, hostKeyRefusal, readHostKey } from "core/secrets/host_key.ts";
import {
  decideReaders,
  parseRecipients,
  planRewrap,
  type RewrapPlan,
} from "core/secrets/recipients.ts";
import {
  checkSecretKey,
  checkSecretValue,
  parseStore,
  printStore,
  readSecret,
  type SecretRef,
  type SecretShards,
  type StoreText,
  withSecret,
} from "core/secrets/shards.ts";

/** The author of a change, for the commit. */
export interface SecretAuthor {
  /** The verb as typed: `secret set`. */
  readonly verb: string;
  readonly caller: string;
}

/** An opened store. */
export interface SecretStore {
  /** The secrets at the time of opening, or of the last write through this value. */
  readonly shards: SecretShards;
  /** Value at one location, without fallback. Agents get their values from `resolveKey`. */
  get(ref: SecretRef): string | undefined;
  /** Names of all secrets, the shared ones first; never values. */
  list(): readonly SecretRef[];
  set(ref: SecretRef, value: string, author: SecretAuthor): Promise<Result<Committed>>;
  /**
   * Changes several secrets in one commit. `decide` receives the current shards under the lock and
   * returns the new ones, or the same object for no change. It checks keys and values itself.
   */
  edit(
    decide: (shards: SecretShards) => Result<SecretShards>,
    of: { readonly author: SecretAuthor; readonly summary: string },
  ): Promise<Result<Committed>>;
  /** Refuses when the location has no secret. */
  unset(ref: SecretRef, author: SecretAuthor): Promise<Result<Committed>>;
}

/** Opens the store with this host's key. */
export async function openSecrets(ports: LedgerPorts, paths: Paths): Promise<Result<SecretStore>> {
  try {
    const key = await readHostKey(ports, paths);
    if (!key.ok) return key;
    const sealed = await ports.files.readText(paths.secretsFile);
    if (sealed === undefined) return err(missingStore(paths));
    if (key.value === undefined) return err(hostKeyRefusal(paths, "it does not exist"));
    const opened = await openText(paths, sealed, key.value);
    return opened.ok ? ok(createStore(ports, paths, key.value, opened.value.shards)) : opened;
  } catch (thrown) {
    return err(fileRefusal(thrown, "read the secret store"));
  }
}

/**
 * Encrypts the store to every listed recipient and returns the readers that were added and removed.
 * This host must already be able to read the store.
 */
export async function rewrapSecrets(
  ports: LedgerPorts,
  paths: Paths,
  author: SecretAuthor,
): Promise<Result<RewrapPlan>> {
  let plan: RewrapPlan = { added: [], removed: [] };
  const done = await changeStore(ports, paths, {
    author,
    summary: "the readers of the secret store",
    change: async (store, key) => {
      const listed = parseRecipients(
        await ports.files.readText(paths.recipientsFile),
        paths.recipientsFile,
      );
      if (!listed.ok) return listed;
      plan = planRewrap(store.recipients, listed.value);
      if (plan.added.length + plan.removed.length === 0) return ok(undefined);
      const recipients = listed.value.map((each) => each.recipient);
      const kept = decideReaders(recipients, listed.value, key.recipients);
      return kept.ok ? ok({ shards: store.shards, recipients }) : kept;
    },
  });
  return done.ok ? ok(plan) : done;
}

/**
 * Opens sealed text; the refusal states the fault and the remedy. `keyText` names the key in
 * messages.
 */
export async function openText(
  paths: Paths,
  sealed: string,
  key: Pick<HostKey, "identities">,
  keyText = `the key "${paths.hostKey}" of this host`,
): Promise<Result<StoreText>> {
  const text = await unseal(sealed, key.identities);
  if (!text.ok) {
    return err(
      text.error.reason === "foreign"
        ? unreadable(paths, `${keyText} is not among its recipients`, [
          "fleetctl secret recover --key - < recovery.key",
          'run "fleetctl secret rewrap" on a host that is already a recipient',
        ])
        : corrupt(paths, text.error.detail),
    );
  }
  const parsed = parseStore(text.value);
  return parsed.ok ? parsed : err(corrupt(paths, parsed.error));
}

/** A change of the store; `change` returns undefined to leave the file unchanged. */
export interface StoreChange {
  readonly author: SecretAuthor;
  /** Text for the commit: names, never values. */
  readonly summary: string;
  readonly change: (
    store: StoreText,
    key: HostKey,
  ) => Result<StoreText | undefined> | Promise<Result<StoreText | undefined>>;
}

/** Reads, changes and writes the store under the lock of the ledger, in one commit. */
export async function changeStore(
  ports: LedgerPorts,
  paths: Paths,
  { author, summary, change }: StoreChange,
): Promise<Result<Committed>> {
  return await commitChange(ports, paths, {
    ...author,
    summary,
    edits: [{
      path: paths.secretsFile,
      adopts: true,
      change: async (sealed) => {
        if (sealed === undefined) return err(missingStore(paths));
        const key = await readHostKey(ports, paths);
        if (!key.ok) return key;
        if (key.value === undefined) return err(hostKeyRefusal(paths, "it does not exist"));
        const store = await openText(paths, sealed, key.value);
        if (!store.ok) return store;
        const next = await change(store.value, key.value);
        if (!next.ok) return next;
        return ok(
          next.value === undefined
            ? sealed
            : await seal(printStore(next.value), next.value.recipients),
        );
      },
    }],
  });
}

function createStore(
  ports: LedgerPorts,
  paths: Paths,
  key: HostKey,
  opened: SecretShards,
): SecretStore {
  let shards = opened;
  const edit: SecretStore["edit"] = async (decide, { author, summary }) => {
    let written = shards;
    const done = await changeStore(ports, paths, {
      author,
      summary,
      change: async (store) => {
        written = store.shards;
        const next = decide(store.shards);
        if (!next.ok) return next;
        written = next.value;
        const listed = parseRecipients(
          await ports.files.readText(paths.recipientsFile),
          paths.recipientsFile,
        );
        if (!listed.ok) return listed;
        const readers = decideReaders(store.recipients, listed.value, key.recipients);
        if (!readers.ok) return readers;
        // Same values and same readers: skip the write and the commit.
        const isSame = next.value === store.shards &&
          readers.value.length === store.recipients.length;
        return ok(isSame ? undefined : { shards: next.value, recipients: readers.value });
      },
    });
    if (done.ok) shards = written;
    return done;
  };
  const write = (ref: SecretRef, value: string | undefined, author: SecretAuthor) => {
    const where = ref.agent === undefined ? "in the shared shard" : `of agent "${ref.agent}"`;
    return edit((current) => {
      const there = readSecret(current, ref);
      if (value === undefined && there === undefined) return err(absent(ref, where));
      return there === value ? ok(current) : withSecret(current, ref, value);
    }, { author, summary: `${ref.key} ${where}` });
  };
  return {
    get shards() {
      return shards;
    },
    get: (ref) => readSecret(shards, ref),
    list: () => listSecrets(shards),
    set: async (ref, value, author) => {
      const checkedKey = checkSecretKey(ref.key);
      if (!checkedKey.ok) return checkedKey;
      const checked = checkSecretValue(ref.key, value);
      return checked.ok ? await write(ref, checked.value, author) : checked;
    },
    edit,
    unset: (ref, author) => write(ref, undefined, author),
  };
}

function listSecrets(shards: SecretShards): readonly SecretRef[] {
  return [
    ...[...shards.shared.keys()].sort().map((key) => ({ key })),
    ...[...shards.agents].sort(([left], [right]) => left < right ? -1 : 1).flatMap((
      [agent, shard],
    ) => [...shard.keys()].sort().map((key) => ({ key, agent }))),
  ];
}

function absent(ref: SecretRef, where: string): Refusal {
  return refusal("secret-absent", `Cannot unset "${ref.key}": there is none ${where}`, {
    hints: ["fleetctl secret list"],
  });
}

/** Returns the refusal of operations that need a store. */
export function missingStore(paths: Paths): Refusal {
  return refusal(
    "store-missing",
    `Cannot read the secret store: there is no "${paths.secretsFile}"`,
    { hints: ["fleetctl apply"] },
  );
}

function corrupt(paths: Paths, detail: string): Refusal {
  // The newest commit contains only a store that a recorded change wrote, so it is safe to restore.
  return unreadable(paths, `it is damaged (${detail})`, [
    `git -C ${paths.repo} checkout HEAD -- secrets.age`,
  ]);
}

function unreadable(paths: Paths, state: string, hints: readonly string[]): Refusal {
  return refusal(
    "store-unreadable",
    `Cannot read the secret store "${paths.secretsFile}": ${state}; nothing was changed`,
    { hints },
  );
}
