/**
 * Rotates the keys that roles sign with. A ring gets a new first key, which signs. It keeps the
 * previous key, which still verifies, until the next rotation. "Rotate and revoke" keeps only the
 * new key and so invalidates every old signature. Signatures of root executions are valid for
 * seconds only, so their keys are simply replaced.
 *
 * @module
 */

import { parseKeyRing, type RingKey, toBase64Url } from "core/crypto/signed_value.ts";
import { refusal } from "core/errors.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import type { Committed } from "core/ledger/repository.ts";
import type { KeyName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import { HOST_OP_KEYS } from "core/secrets/resolve.ts";
import { readSecret, type SecretShards, withSecret } from "core/secrets/shards.ts";
import { changeStore, type SecretAuthor } from "core/secrets/store.ts";

/** The rotations, with the keys that each one replaces. */
export const ROTATED_KEYS = {
  "hmac": ["WEBVIEW_HMAC_KEY"],
  "assertion": ["WEBVIEW_ASSERTION_KEY"],
  "host-op": HOST_OP_KEYS,
} as const satisfies Readonly<Record<string, readonly string[]>>;
/** A key of `ROTATED_KEYS`. */
export type Rotation = keyof typeof ROTATED_KEYS;

const KEY_BYTES = 32;
/** Number of older keys that still verify. */
const KEPT_KEYS = 1;
/** Key id for a previous key without one. */
const UNNAMED = "before";

/** Options of a rotation. */
export interface RotateOptions extends SecretAuthor {
  readonly what: Rotation;
  /** Drop all previous keys. */
  readonly isRevoked: boolean;
}

/** Replaces the keys in the store, as one commit. */
export async function rotateKeys(
  ports: LedgerPorts & { readonly random: Random },
  paths: Paths,
  { what, isRevoked, ...author }: RotateOptions,
): Promise<Result<Committed>> {
  const names = ROTATED_KEYS[what].map((name) => name as string as KeyName);
  return await changeStore(ports, paths, {
    author,
    summary: names.length === 1 ? `${names[0]} in the shared shard` : `the ${what} keys`,
    change: (store) => {
      let shards: SecretShards = store.shards;
      for (const key of names) {
        const fresh = freshKey(ports);
        const next = what === "host-op"
          ? ok(fresh.key)
          : nextRing(key, { old: readSecret(shards, { key }), fresh, isRevoked });
        if (!next.ok) return next;
        const changed = withSecret(shards, { key }, next.value);
        if (!changed.ok) return changed;
        shards = changed.value;
      }
      return ok({ shards, recipients: store.recipients });
    },
  });
}

/** Returns the text of a ring with a new first key. */
export function nextRing(
  key: KeyName,
  { old, fresh, isRevoked }: {
    readonly old: string | undefined;
    readonly fresh: RingKey;
    readonly isRevoked: boolean;
  },
): Result<string> {
  const kept: RingKey[] = [];
  if (old !== undefined && !isRevoked) {
    const ring = parseKeyRing(old, key);
    if (!ring.ok) return err({ ...ring.error, kind: "refused", hints: [revokeHint(key)] });
    for (const each of ring.value.slice(0, KEPT_KEYS)) {
      kept.push(each.kid === "" ? { ...each, kid: UNNAMED } : each);
    }
  }
  const text = [fresh, ...kept].map((each) => `${each.kid}:${each.key}`).join(",");
  const read = parseKeyRing(text, key);
  // A key that contains a comma is valid alone, but not in a ring.
  const isSame = read.ok && read.value.length === kept.length + 1 &&
    read.value.slice(1).every((each, index) => each.key === kept[index]?.key);
  return isSame ? ok(text) : err(refusal(
    "key-not-for-ring",
    `Cannot rotate "${key}": the current key cannot be part of a ring, because it contains a comma`,
    { hints: [revokeHint(key)] },
  ));
}

function freshKey(ports: LedgerPorts & { readonly random: Random }): RingKey {
  // The day shows the age of a key; the random part distinguishes two rotations on one day.
  const day = new Date(ports.clock.now()).toISOString().slice(0, 10).replaceAll("-", "");
  const tail = toBase64Url(ports.random.bytes(3));
  return { kid: `${day}-${tail}`, key: toBase64Url(ports.random.bytes(KEY_BYTES)) };
}

function revokeHint(key: string): string {
  return `fleetctl secret rotate ${key === "WEBVIEW_HMAC_KEY" ? "hmac" : "assertion"} --revoke`;
}
