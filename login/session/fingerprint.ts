/**
 * Fingerprints that tie sessions to what opened them: the user's current password (basic), or the
 * pinned identity (oidc). When it changes, the sessions end. The session table stores the
 * fingerprint. A plain-text password first goes through the slow password hash, so that the table
 * reveals no more than a password hash would. A password's fingerprint is computed once and cached.
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
  // A credential that is already a hash is used unchanged. Plain passwords get a per-user salt.
  const stored = user.credential.kind === "hash"
    ? user.stored
    : await hashPassword(user.stored, await digest(`session/${user.name}`));
  return toBase64Url((await digest(stored)).slice(0, 16));
}
