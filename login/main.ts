/**
 * Composition root of `fleetctl-login`: the login proxy in front of the cockpit.
 * Permission set `login`: its state folder, its listener, the cockpit.
 *
 * Usage: `fleetctl-login [--check-config | --help | --hash-password <user>]`; the password is read
 * from standard input, and the entry for `WEBVIEW_BASIC_USERS` is printed.
 *
 * @module
 */

import { openHost } from "core/os/host.ts";
import { helpOrRefuse, readEnv, serveUntilStopped, usableOrExit } from "core/os/role.ts";
import { logStrayRejections } from "core/os/stray_rejections.ts";
import { systemHashThreads } from "login/os/slow_hashes.ts";
import { systemProxying } from "login/http1/os/proxy_server.ts";
import { hashPassword, PASSWORD_SALT_BYTES } from "core/login/password.ts";
import { parseBasicUsers, printBasicUsers } from "core/login/basic_users.ts";
import { LOGIN_SETTINGS, readLoginConfig } from "login/config.ts";
import { startLogin } from "login/login.ts";
import { readForm } from "login/proxy/body.ts";

const PROGRAM = "fleetctl-login";
const host = openHost({ log: { program: PROGRAM } });
logStrayRejections(host.log);

async function print(to: { write(data: Uint8Array): Promise<number> }, text: string) {
  await to.write(new TextEncoder().encode(text));
}

/** Prints the entry of a user; reads the password from standard input, never from arguments. */
async function printEntry(name: string): Promise<number> {
  const text = await readForm(Deno.stdin.readable);
  const password = (text.ok ? text.value : "").replace(/\r?\n$/, "");
  const checked = parseBasicUsers(printBasicUsers([{ name, stored: "x" }]));
  const user = checked.ok ? checked.value[0] : undefined;
  if (user === undefined || password === "") {
    const why = user === undefined ? "the user name is unusable" : "the password is empty";
    await print(Deno.stderr, `${PROGRAM}: Cannot hash the password: ${why}\n`);
    return 2;
  }
  const salt = host.random.bytes(PASSWORD_SALT_BYTES);
  const stored = await hashPassword(password, salt);
  await print(Deno.stdout, `${printBasicUsers([{ name: user.name, stored }])}\n`);
  return 0;
}

if (Deno.args[0] === "--hash-password") Deno.exit(await printEntry(Deno.args[1] ?? ""));
await helpOrRefuse(PROGRAM, {
  purpose: "logs people in to the cockpit",
  settings: LOGIN_SETTINGS,
  arguments: {
    "--hash-password": "first, with a user's name: print an entry of WEBVIEW_BASIC_USERS for the " +
      "password on standard input",
  },
});

const config = await usableOrExit(PROGRAM, await readLoginConfig(readEnv(LOGIN_SETTINGS)));

await serveUntilStopped(host.log, async () => {
  for (const warning of config.warnings) host.log.warning(warning);
  const login = await startLogin(config, {
    ...host,
    proxying: systemProxying(host),
    hashes: systemHashThreads(),
  });
  host.log.info("ready", { login: `${login.address.hostname}:${login.address.port}` });
  return () => login.close();
});
