/**
 * The people who log in with a password: the entries of `WEBVIEW_BASIC_USERS` in the shared shard.
 * The store keeps a hash. A generated password is returned once and not stored.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { canonicalName, parseBasicUsers, printBasicUsers } from "core/login/basic_users.ts";
import { hashPassword, PASSWORD_SALT_BYTES } from "core/login/password.ts";
import type { KeyName } from "core/names.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import type { SecretAuthor, SecretStore } from "core/secrets/store.ts";

/** Key of the users in the shared shard. */
export const USERS_KEY = "WEBVIEW_BASIC_USERS" as KeyName;
/** Letters and digits that people do not confuse. */
const ALPHABET = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const PASSWORD_LENGTH = 20;
/** Shortest chosen password. Shorter ones could be guessed within the rate limit. */
const CHOSEN_LENGTH_MIN = 10;

/** One stored entry. */
export interface Account {
  readonly name: string;
  readonly stored: string;
}

/** Reads the entries. Refuses a list that cannot be parsed, so that it is never overwritten. */
export function readAccounts(secrets: SecretStore): Result<readonly Account[]> {
  const text = secrets.get({ key: USERS_KEY });
  if (text === undefined || text === "") return ok([]);
  const users = parseBasicUsers(text);
  if (users.ok) return ok(users.value.map(({ name, stored }) => ({ name, stored })));
  return err(refusal(
    "basic-users-invalid",
    `Cannot read the users of the login proxy: ${USERS_KEY} has faults, must be ` +
      "user:password,user:password",
    { details: users.error, hints: [`fleetctl secret set ${USERS_KEY} --value - < file`] },
  ));
}

/** Refuses a chosen password that is too short. */
export function checkPassword(password: string): Result<void> {
  const length = [...password].length;
  if (length >= CHOSEN_LENGTH_MIN) return ok(undefined);
  return err(refusal(
    "password-weak",
    `Cannot use the password: it has ${length} characters, must have at least ${CHOSEN_LENGTH_MIN}`,
    { kind: "usage", hints: ["fleetctl webview-login users set --help"] },
  ));
}

/** Stores the hash of a person's password. Replaces an earlier one. */
export async function setAccount(
  secrets: SecretStore,
  account: { readonly name: string; readonly password: string },
  by: { readonly random: Pick<Random, "bytes">; readonly author: SecretAuthor },
): Promise<Result<void>> {
  const now = readAccounts(secrets);
  if (!now.ok) return now;
  const name = canonicalName(account.name);
  const stored = await hashPassword(account.password, by.random.bytes(PASSWORD_SALT_BYTES));
  const isThere = now.value.some((one) => one.name === name);
  const entries = isThere
    ? now.value.map((one) => one.name === name ? { name, stored } : one)
    : [...now.value, { name, stored }];
  return await writeAccounts(secrets, entries, by.author);
}

/** Replaces all entries. An empty list removes the key. */
export async function writeAccounts(
  secrets: SecretStore,
  entries: readonly Account[],
  author: SecretAuthor,
): Promise<Result<void>> {
  const ref = { key: USERS_KEY };
  if (entries.length === 0) {
    const gone = await secrets.unset(ref, author);
    return gone.ok ? ok(undefined) : gone;
  }
  const text = printBasicUsers(entries);
  const checked = parseBasicUsers(text);
  if (!checked.ok) {
    return err(refusal("basic-users-invalid", "Cannot store the user: the entry has a fault", {
      details: checked.error,
      hints: ["fleetctl webview-login users list"],
    }));
  }
  const set = await secrets.set(ref, text, author);
  return set.ok ? ok(undefined) : set;
}

/**
 * Generates a password. Random bytes beyond the last whole alphabet are discarded, so all letters
 * are equally likely.
 */
export function makePassword(random: Pick<Random, "bytes">): string {
  const fair = 256 - 256 % ALPHABET.length;
  let password = "";
  while (password.length < PASSWORD_LENGTH) {
    for (const byte of random.bytes(PASSWORD_LENGTH)) {
      if (byte < fair && password.length < PASSWORD_LENGTH) {
        password += ALPHABET[byte % ALPHABET.length] ?? "";
      }
    }
  }
  return password;
}

/** Returns the line that shows a new password once. */
export function passwordLine(name: string, password: string): string {
  return `login  ${name}  password ${password}  (shown once)`;
}
