/**
 * Fingerprints of secrets. They show whether two values are equal, or whether one changed, but are
 * too short to test guesses. They are keyed with a key of this fleet that only operators can read,
 * so that a list of fingerprints is useless elsewhere. They change when that key is rotated.
 *
 * @module
 */

import { deriveKeyBytes } from "core/crypto/signed_value.ts";
import type { KeyName } from "core/names.ts";
import { HOST_OP_KEYS } from "core/secrets/resolve.ts";
import { readSecret, type SecretShards } from "core/secrets/shards.ts";

const PURPOSE = "secret-fingerprint";
/** 40 bits: in a fleet of a thousand secrets, the chance of a false match is one in a million. */
const FINGERPRINT_BYTES = 5;

/** Returns a function that computes fingerprints; undefined when the store has no key for them. */
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
