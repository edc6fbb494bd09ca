/**
 * Passwords as they are stored: `{pbkdf2-sha256}600000$<salt>$<hash>`, both parts unpadded base64url
 * (decision 40, "hashed entries"). No randomness: the salt is passed in. Verifying always does the
 * same work for a given number of iterations, whatever the password.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { fromBase64Url, toBase64Url } from "core/signed_value.ts";

/** Iterations of a new hash (the advice for PBKDF2 with SHA-256 as of 2023). */
export const PASSWORD_ITERATIONS = 600_000;
/** Bytes of a new salt. */
export const PASSWORD_SALT_BYTES = 16;

const PREFIX = "{pbkdf2-sha256}";
const FORM = /^([1-9][0-9]{3,7})\$([A-Za-z0-9_-]+)\$([A-Za-z0-9_-]+)$/;
const ITERATIONS_MAX = 10_000_000;
const SALT_BYTES_MIN = 8;
const HASH_BYTES = 32;

/** A parsed hash. */
export interface PasswordHash {
  readonly iterations: number;
  readonly salt: Uint8Array<ArrayBuffer>;
  readonly hash: Uint8Array<ArrayBuffer>;
}

/** Tells whether a stored password is a hash, or wants to be one. */
export function isHashed(stored: string): boolean {
  return /^\{[A-Za-z0-9-]+\}/.test(stored);
}

/** Parses a stored hash; the refusal never holds any of it. */
export function parsePasswordHash(stored: string): Result<PasswordHash> {
  const bad = (found: string) =>
    err(refusal("password-hash-invalid", `Cannot read a password hash: ${found}`, {
      kind: "settings",
      hints: ["fleetctl-login --hash-password <user>"],
    }));
  if (!stored.startsWith(PREFIX)) return bad(`its scheme is not known, must be ${PREFIX}`);
  const [, count, saltText = "", hashText = ""] = FORM.exec(stored.slice(PREFIX.length)) ?? [];
  const salt = fromBase64Url(saltText);
  const hash = fromBase64Url(hashText);
  if (count === undefined || salt === undefined || hash === undefined) {
    return bad("it must have the form iterations$salt$hash");
  }
  const iterations = Number(count);
  if (iterations > ITERATIONS_MAX) return bad(`it asks for more than ${ITERATIONS_MAX} iterations`);
  if (salt.length < SALT_BYTES_MIN) return bad("its salt is too short");
  return hash.length === HASH_BYTES
    ? ok({ iterations, salt, hash })
    : bad(`its hash must have ${HASH_BYTES} bytes`);
}

/** Hashes a new password. */
export async function hashPassword(
  password: string,
  salt: Uint8Array<ArrayBuffer>,
  iterations: number = PASSWORD_ITERATIONS,
): Promise<string> {
  const hash = await derive(password, { salt, iterations });
  return `${PREFIX}${iterations}$${toBase64Url(salt)}$${toBase64Url(hash)}`;
}

/** Tells whether a password is the one that was hashed. */
export async function isPasswordOf(given: string, stored: PasswordHash): Promise<boolean> {
  return areEqualBytes(await derive(given, stored), stored.hash);
}

/** Does the work of `iterations` for nothing, where there is no hash to compare with. */
export async function spendIterations(given: string, iterations: number): Promise<void> {
  await derive(given, { salt: new Uint8Array(PASSWORD_SALT_BYTES), iterations });
}

/** Compares bytes of one length in a time that does not depend on them. */
export function areEqualBytes(left: Uint8Array, right: Uint8Array): boolean {
  let difference = left.length ^ right.length;
  for (let index = 0; index < left.length; index++) {
    difference |= (left[index] ?? 0) ^ (right[index] ?? 0);
  }
  return difference === 0;
}

async function derive(
  password: string,
  how: { readonly salt: Uint8Array<ArrayBuffer>; readonly iterations: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const text = new TextEncoder().encode(password);
  const key = await crypto.subtle.importKey("raw", text, "PBKDF2", false, ["deriveBits"]);
  const bits = await crypto.subtle.deriveBits(
    { name: "PBKDF2", hash: "SHA-256", salt: how.salt, iterations: how.iterations },
    key,
    HASH_BYTES * 8,
  );
  return new Uint8Array(bits);
}
