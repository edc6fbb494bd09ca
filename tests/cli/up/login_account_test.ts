/**
 * The login that `up` creates: once, complete after an interruption, and never over an operator's
 * settings.
 *
 * @module
 */

import assert from "node:assert/strict";
import { ensureLoginAccount, loginLine } from "cli/up/login_account.ts";
import { USERS_KEY } from "cli/webview_login/accounts.ts";
import { parseBasicUsers } from "core/login/basic_users.ts";
import { initRepo } from "core/ledger/repository.ts";
import type { HostName } from "core/names.ts";
import { openHost } from "core/os/host.ts";
import { isPasswordOf } from "core/login/password.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { Host } from "core/ports/host.ts";
import { initSecrets } from "core/secrets/init.ts";
import { openSecrets } from "core/secrets/store.ts";
import { recordingLog } from "tests/fakes/log.ts";

const ACCOUNT = { user: "owner@localhost", password: "p" } as const;
const ROWS: readonly [string, string][] = [
  ["127.0.0.1", "http://localhost:1"],
  ["0.0.0.0", "http://localhost:1"],
  ["::1", "http://localhost:1"],
  ["::", "http://localhost:1"],
  ["10.0.0.5", "http://10.0.0.5:1"],
  ["fd00::1", "http://[fd00::1]:1"],
];
for (const [listen, url] of ROWS) {
  Deno.test(`loginLine() opens ${url} for ${listen}`, () => {
    assert.equal(
      loginLine(ACCOUNT, { listen, port: 1 }),
      `open ${url}  user owner@localhost  password p`,
    );
  });
}

Deno.test("loginLine() shows no password when it does not know it", () => {
  assert.equal(
    loginLine({ user: "a@b", password: undefined }, { listen: "::1", port: 1 }),
    "open http://localhost:1  user a@b  password as set with WEBVIEW_BASIC_USERS",
  );
});

const AUTHOR = { verb: "up", caller: "root" };
const USER = "owner@localhost";

async function withRoot(work: (host: Host, paths: Paths) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    const host = { ...openHost({ log: { program: "test" } }), log: recordingLog() };
    const paths = pathsUnder(root);
    assert.ok((await initRepo(host, paths)).ok);
    assert.ok((await initSecrets(host, paths, { ...AUTHOR, hostname: "atlas" as HostName })).ok);
    await work(host, paths);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

async function passwordOf(host: Host, paths: Paths): Promise<string | undefined> {
  const account = await ensureLoginAccount(host, paths, USER);
  assert.ok(account.ok);
  return account.value.password;
}

async function stored(host: Host, paths: Paths): Promise<string> {
  const secrets = await openSecrets(host, paths);
  assert.ok(secrets.ok);
  return secrets.value.get({ key: USERS_KEY }) ?? "";
}

Deno.test("ensureLoginAccount() makes one password, keeps its hash, shows it again", async () => {
  await withRoot(async (host, paths) => {
    const password = await passwordOf(host, paths);
    assert.match(password ?? "", /^[A-Za-z2-9]{20}$/);
    const stat = await host.files.stat(paths.loginAccount);
    assert.equal(stat?.mode, 0o600);
    const text = await stored(host, paths);
    assert.ok(!text.includes(password ?? "-"));
    const users = parseBasicUsers(text);
    assert.ok(users.ok);
    const [user] = users.value;
    assert.ok(user?.name === USER && user.credential.kind === "hash");
    assert.ok(await isPasswordOf(password ?? "", user.credential.hash));
    assert.equal(await passwordOf(host, paths), password);
    assert.equal(await stored(host, paths), text, "nothing is written the second time");
  });
});

Deno.test("ensureLoginAccount() resumes after an interrupt, shows no wrong password", async () => {
  await withRoot(async (host, paths) => {
    const cut = `user: ${USER}\npassword: kept-from-before\n`;
    await host.files.write(paths.loginAccount, cut, { mode: 0o600 });
    assert.equal(await passwordOf(host, paths), "kept-from-before");
    const secrets = await openSecrets(host, paths);
    assert.ok(secrets.ok);
    for (const text of [`${USER}:another`, "mia@example.org:x", "damaged"]) {
      assert.ok((await secrets.value.set({ key: USERS_KEY }, text, AUTHOR)).ok);
      assert.equal(await passwordOf(host, paths), undefined, text);
      assert.equal(await stored(host, paths), text, "what an operator has set stays");
    }
    await secrets.value.set({ key: USERS_KEY }, `${USER}:kept-from-before`, AUTHOR);
    assert.equal(await passwordOf(host, paths), "kept-from-before");
    await host.files.remove(paths.loginAccount);
    assert.equal(await passwordOf(host, paths), undefined);
  });
});

Deno.test("ensureLoginAccount() refuses a store that it cannot read", async () => {
  await withRoot(async (host, paths) => {
    await host.files.write(paths.secretsFile, "damaged", { mode: 0o600 });
    const account = await ensureLoginAccount(host, paths, USER);
    assert.ok(!account.ok);
    assert.equal(await host.files.stat(paths.loginAccount), undefined);
  });
});
