/**
 * Env file of the login proxy: the role reads exactly what was rendered, and no file lacks its
 * keys.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseEnvFile } from "core/text/env_file.ts";
import { pathsUnder } from "core/paths.ts";
import { readLoginConfig } from "login/config.ts";
import { renderLoginEnv } from "units/render/roles/login_env.ts";

const LOGIN = {
  listen: "127.0.0.1:8736",
  driver: "basic",
  hmacKey: "hmac-key-of-the-tests-0000",
  assertionKey: "assertion-key-of-the-tests",
  basicUsers: 'mia@example.org:a$b"c, d,bob@example.org:x',
} as const;
const site = { paths: pathsUnder("/"), cockpit: "127.0.0.1:9" };

Deno.test("renderLoginEnv() renders what the login proxy reads", async () => {
  const file = renderLoginEnv({ ...LOGIN, settings: { WEBVIEW_SESSION_TTL: "1h" } }, site);
  assert.ok(file.ok);
  assert.deepEqual([file.value.path, file.value.mode, file.value.owner, file.value.secret], [
    "/etc/fleetctl/env/webview-login.env",
    0o640,
    { user: "root", group: "fleetctl-login" },
    true,
  ]);
  const env = parseEnvFile(file.value.content);
  assert.ok(env.ok);
  const config = await readLoginConfig(Object.fromEntries(env.value));
  assert.ok(config.ok, config.ok ? "" : config.error.details.join("\n"));
  const { driver, cockpit, ttlMs, assertionKeys } = config.value;
  assert.ok(driver.kind === "basic");
  assert.deepEqual(driver.users.map(({ stored }) => stored), ['a$b"c, d', "x"]);
  assert.deepEqual([cockpit, ttlMs], [{ hostname: "127.0.0.1", port: 9 }, 3_600_000]);
  assert.ok(assertionKeys !== undefined);
});

Deno.test("renderLoginEnv() renders no file without its keys", () => {
  const { basicUsers: _, ...nobody } = LOGIN;
  for (
    const [login, key] of [[{ ...LOGIN, hmacKey: "" }, "HMAC_KEY"], [
      nobody,
      "BASIC_USERS",
    ]] as const
  ) {
    const file = renderLoginEnv(login, site);
    assert.ok(!file.ok && file.error.code === "login-key-missing");
    assert.ok(file.error.message.includes(`WEBVIEW_${key}`));
  }
  const oidc = renderLoginEnv({ ...nobody, driver: "oidc" }, { ...site, cockpit: undefined });
  assert.ok(oidc.ok && !oidc.value.content.includes("WEBVIEW_UPSTREAM"));
});
