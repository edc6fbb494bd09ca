/**
 * Fingerprints of secrets: enough to see that two places hold the same value, or that one changed,
 * and too little to try guesses on. Keyed with a key of this fleet that only operators can read, so
 * that a list of fingerprints is worth nothing elsewhere. They change when that key is rotated.
 *
 * @module
 */

import { deriveKeyBytes } from "core/crypto/signed_value.ts";
import type { KeyName } from "core/names.ts";
import { HOST_OP_KEYS } from "core/secrets/resolve.ts";
import { readSecret, type SecretShards } from "core/secrets/shards.ts";

const PURPOSE = "secret-fingerprint";
/** 40 bits: a chance of one in a million that a fleet of a thousand secrets has a false match. */
const FINGERPRINT_BYTES = 5;

/** Returns what makes fingerprints, or undefined where the store holds no key for them. */
export async function openFingerprints(
  shards: SecretShards,
): Promise<((value: string) => Promise<string>) | undefined> {
  const secret = readSecret(shards, { key: HOST_OP_KEYS[0] as string as KeyName });
  if (secret === undefined) return undefined;
  const key = await crypto.subtle.importKey(
    "raw",
    await deriveKeyBytes({ kid: "", key: secret }, PURPOSE),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  return async (value) => {
    const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(value));
    return [...new Uint8Array(mac).subarray(0, FINGERPRINT_BYTES)]
      .map((byte) => byte.toString(16).padStart(2, "0")).join("");
  };
}
