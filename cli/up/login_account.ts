/**
 * The login of the local person: one user with a random password, created once. The secret store
 * keeps its hash for the login proxy. The password is in a file that only the owner of the root can
 * read, so that every `up` can show it. A password that an operator has set is kept.
 *
 * @module
 */

import { makePassword, USERS_KEY } from "cli/webview_login/accounts.ts";
import { fileRefusal } from "core/ledger/file_refusal.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { parseBasicUsers, printBasicUsers } from "core/login/basic_users.ts";
import { hashPassword, isPasswordOf, PASSWORD_SALT_BYTES } from "core/login/password.ts";
import type { Paths } from "core/paths.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import { openSecrets, type SecretStore } from "core/secrets/store.ts";

/** The login. The password is undefined when an operator has set another one. */
export interface LoginAccount {
  readonly user: string;
  readonly password: string | undefined;
}

/** Creates the account if it is missing, and returns its present state. */
export async function ensureLoginAccount(
  ports: LedgerPorts & { readonly random: Pick<Random, "bytes"> },
  paths: Paths,
  user: string,
): Promise<Result<LoginAccount>> {
  try {
    const secrets = await openSecrets(ports, paths);
    if (!secrets.ok) return secrets;
    const kept = readPassword(await ports.files.readText(paths.loginAccount), user);
    const stored = secrets.value.get({ key: USERS_KEY });
    if (stored !== undefined) {
      const holds = kept !== undefined && await isPassword(stored, user, kept);
      return ok({ user, password: holds ? kept : undefined });
    }
    const password = kept ?? makePassword(ports.random);
    // Write the file first: after an interruption the next start uses the same password.
    if (kept === undefined) {
      await ports.files.write(paths.loginAccount, printAccount(user, password), { mode: 0o600 });
    }
    return await storeHash(secrets.value, { user, password }, ports.random);
  } catch (thrown) {
    return err(fileRefusal(thrown, "make the login of this root"));
  }
}

/** Returns the line that explains how to open the cockpit. */
export function loginLine(
  account: LoginAccount,
  at: { readonly listen: string; readonly port: number },
): string {
  const isReached = /^(?:127\.|0\.0\.0\.0$|::1$|::$)/.test(at.listen);
  const host = isReached ? "localhost" : at.listen.includes(":") ? `[${at.listen}]` : at.listen;
  const password = account.password === undefined
    ? `password as set with ${USERS_KEY}`
    : `password ${account.password}`;
  return `open http://${host}:${at.port}  user ${account.user}  ${password}`;
}

async function storeHash(
  secrets: SecretStore,
  account: { readonly user: string; readonly password: string },
  random: Pick<Random, "bytes">,
): Promise<Result<LoginAccount>> {
  const stored = await hashPassword(account.password, random.bytes(PASSWORD_SALT_BYTES));
  const text = printBasicUsers([{ name: account.user, stored }]);
  const set = await secrets.set({ key: USERS_KEY }, text, { verb: "up", caller: "root" });
  return set.ok ? ok(account) : set;
}

async function isPassword(stored: string, user: string, password: string): Promise<boolean> {
  const users = parseBasicUsers(stored);
  const credential = users.ok
    ? users.value.find((one) => one.name === user)?.credential
    : undefined;
  if (credential?.kind === "hash") return await isPasswordOf(password, credential.hash);
  return credential?.kind === "plain" && credential.password === password;
}

function printAccount(user: string, password: string): string {
  return `# Login of the cockpit of this root; made by fleetctl up.\nuser: ${user}\n` +
    `password: ${password}\n`;
}

function readPassword(text: string | undefined, user: string): string | undefined {
  const lines = (text ?? "").split("\n");
  if (!lines.includes(`user: ${user}`)) return undefined;
  return lines.find((line) => line.startsWith("password: "))?.slice("password: ".length);
}
