/**
 * A text that stands for a user's present password, to tie sessions to it. It is slow to make from
 * a plain password, because it is stored: whoever reads the session table learns as little as
 * from a hash. Made once per user and kept in memory.
 *
 * @module
 */

import { hashPassword } from "core/password.ts";
import type { PinStore } from "core/login_store.ts";
import { toBase64Url } from "core/signed_value.ts";
import type { BasicUser } from "core/basic_users.ts";

/** Looks fingerprints up by principal; undefined for somebody who is no user now. */
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
 * Creates the lookup of the oidc driver: a session belongs to who its address is pinned to, so that
 * `webview-login pins clear` ends it too.
 */
export function createPinPrints(pins: Pick<PinStore, "find">): Fingerprints {
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
  // A hash says nothing of its password already; a plain one is hashed with a salt of its own user.
  const stored = user.credential.kind === "hash"
    ? user.stored
    : await hashPassword(user.stored, await digest(`session/${user.name}`));
  return toBase64Url((await digest(stored)).slice(0, 16));
}
