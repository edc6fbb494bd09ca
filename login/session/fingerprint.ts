/**
 * A fingerprint of a user's current password, which ties sessions to it. For a plain password it is
 * a slow hash, because it is stored: the session table reveals no more than a password hash.
 * Computed once per user and cached.
 *
 * @module
 */

import { hashPassword } from "core/login/password.ts";
import type { PinStore } from "core/login/store.ts";
import { toBase64Url } from "core/crypto/signed_value.ts";
import type { BasicUser } from "core/login/basic_users.ts";

/** Returns the fingerprint of a principal; undefined for an unknown user. */
export type Fingerprints = (principal: string) => Promise<string | undefined>;

/** Creates the lookup for a table of users. */
export function createFingerprints(users: readonly BasicUser[]): Fingerprints {
  const byName = new Map(users.map((user) => [user.name, user]));
  const made = new Map<string, Promise<string>>();
  return async (principal) => {
    const user = byName.get(principal);
    if (user === undefined) return undefined;
    let own = made.get(principal);
    if (own === undefined) made.set(principal, own = fingerprintOf(user));
    return await own;
  };
}

/**
 * Creates the lookup of the oidc driver. It fingerprints the pinned identity, so that
 * `webview-login pins clear` also ends the sessions.
 */
export function createPinFingerprints(pins: Pick<PinStore, "find">): Fingerprints {
  return async (principal) => {
    const pin = pins.find(principal);
    return pin === undefined
      ? undefined
      : toBase64Url((await digest(JSON.stringify([pin.issuer, pin.subject]))).slice(0, 16));
  };
}

async function digest(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

async function fingerprintOf(user: BasicUser): Promise<string> {
  // Stored hashes are safe as they are. Plain passwords are hashed with a per-user salt.
  const stored = user.credential.kind === "hash"
    ? user.stored
    : await hashPassword(user.stored, await digest(`session/${user.name}`));
  return toBase64Url((await digest(stored)).slice(0, 16));
}
