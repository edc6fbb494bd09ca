/**
 * Parses `WEBVIEW_BASIC_USERS`: `user:password,user:password`, where a password may be a hash. No
 * I/O; faults never contain a password.
 *
 * A comma starts a new entry only if a colon follows before the next comma, so passwords may
 * contain commas. Names are compared in lowercase: the name is the principal.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits/login.ts";
import { isHashed, parsePasswordHash, type PasswordHash } from "core/login/password.ts";
import { err, ok, type Result } from "core/result.ts";

/** A stored password: plain text or a hash. */
export type Credential =
  | { readonly kind: "plain"; readonly password: string }
  | { readonly kind: "hash"; readonly hash: PasswordHash };

/** One entry. */
export interface BasicUser {
  /** Lowercase; becomes `X-User-Email`. */
  readonly name: string;
  readonly credential: Credential;
  /** The entry's password part as written, for the fingerprint that ties sessions to it. */
  readonly stored: string;
}

/** Allowed characters of a name: it becomes a header and a field of the session token. */
const NAME = /^[\x21-\x2b\x2d-\x39\x3b-\x7b\x7d\x7e]+$/;

/** Returns the canonical form of a name: trimmed and in lowercase. */
export function canonicalName(given: string): string {
  return given.trim().toLowerCase();
}

/** Parses the list; faults name entries by their position. */
export function parseBasicUsers(text: string): Result<readonly BasicUser[], readonly string[]> {
  const faults: string[] = [];
  const users: BasicUser[] = [];
  const entries = splitEntries(text);
  for (const [index, entry] of entries.entries()) {
    const which = `entry ${index + 1} of ${entries.length}`;
    const colon = entry.indexOf(":");
    if (colon === -1) {
      faults.push(`${which} has no colon, must be user:password`);
      continue;
    }
    const name = canonicalName(entry.slice(0, colon));
    const stored = entry.slice(colon + 1);
    const fault = nameFault(name) ??
      (users.some((user) => user.name === name) ? "has the same name as another" : undefined);
    if (fault !== undefined) faults.push(`${which} ${fault}`);
    else if (stored === "") faults.push(`${which} has an empty password`);
    else if (stored.length > LOGIN_LIMITS.passwordLengthMax) {
      faults.push(`${which} has a password that is too long`);
    } else {
      const credential = credentialOf(stored);
      if (credential.ok) users.push({ name, credential: credential.value, stored });
      else faults.push(`${which} ${credential.error}`);
    }
  }
  if (entries.length === 0) faults.push("there are no entries, must be user:password");
  return faults.length === 0 ? ok(users) : err(faults);
}

/** Serializes entries, the inverse of `parseBasicUsers`; names must have no colon or comma. */
export function printBasicUsers(
  entries: readonly { readonly name: string; readonly stored: string }[],
): string {
  return entries.map(({ name, stored }) => `${name}:${stored}`).join(",");
}

function splitEntries(text: string): readonly string[] {
  const entries: string[] = [];
  for (const part of text.split(",")) {
    const isStart = entries.length === 0 || part.includes(":");
    if (isStart) entries.push(part);
    else entries.push(`${entries.pop() ?? ""},${part}`);
  }
  return text.trim() === "" ? [] : entries;
}

function nameFault(name: string): string | undefined {
  if (name === "") return "has an empty name";
  if (name.length > LOGIN_LIMITS.nameLengthMax) return "has a name that is too long";
  return NAME.test(name) ? undefined : "has a name with a space, a bar or a special character";
}

function credentialOf(stored: string): Result<Credential, string> {
  if (!isHashed(stored)) return ok({ kind: "plain", password: stored });
  const hash = parsePasswordHash(stored);
  if (hash.ok) return ok({ kind: "hash", hash: hash.value });
  const why = hash.error.message.replace(/^Cannot read a password hash: /, "");
  return err(`has a hash that cannot be read: ${why}`);
}
