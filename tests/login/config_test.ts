/**
 * Settings of the login proxy: all faults are reported together, without secrets, and unsafe
 * settings cause a warning.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readLoginConfig } from "login/config.ts";

const GOOD = {
  WEBVIEW_AUTH_DRIVER: "basic",
  WEBVIEW_BASIC_USERS: "mia@example.org:sesame",
  WEBVIEW_HMAC_KEY: "sesame-sesame-sesame",
  WEBVIEW_ASSERTION_KEY: "sesame-sesame-sesame",
} as const;

Deno.test("readLoginConfig() fills in defaults for absent settings", async () => {
  const config = await readLoginConfig(GOOD);
  assert.ok(config.ok);
  const { listen, cockpit, ttlMs, driver, trustedProxies } = config.value;
  assert.deepEqual(listen, { hostname: "0.0.0.0", port: 8736 });
  assert.deepEqual(cockpit, { hostname: "127.0.0.1", port: 8731 });
  assert.equal(ttlMs, 30 * 86_400_000);
  assert.ok(driver.kind === "basic");
  assert.deepEqual(driver.users.map(({ name }) => name), ["mia@example.org"]);
  assert.equal(trustedProxies.length, 2);
});

const OIDC = {
  WEBVIEW_AUTH_DRIVER: "oidc",
  WEBVIEW_OIDC_ISSUER: "https://idp.example/tenant",
  WEBVIEW_OIDC_CLIENT_ID: "cockpit",
  WEBVIEW_OIDC_CLIENT_SECRET: "sesame-secret",
  WEBVIEW_URL: "https://cockpit.example/",
} as const;

Deno.test("readLoginConfig() accepts oidc in each spelling, without users", async () => {
  for (const driver of ["oidc", "entra", "google", ""]) {
    const config = await readLoginConfig({
      ...GOOD,
      ...OIDC,
      WEBVIEW_AUTH_DRIVER: driver,
      WEBVIEW_BASIC_USERS: "",
    });
    assert.ok(config.ok, config.ok ? "" : config.error.details.join("\n"));
    assert.ok(config.value.driver.kind === "oidc");
    const { provider, rules } = config.value.driver;
    assert.equal(provider.redirectUri, "https://cockpit.example/auth/callback");
    assert.deepEqual(rules.claims, ["email", "preferred_username", "upn"]);
    assert.equal(rules.isMultiTenant, false);
  }
});

Deno.test("readLoginConfig() recognizes an issuer that serves all tenants", async () => {
  const rules = async (env: Readonly<Record<string, string>>) => {
    const config = await readLoginConfig({ ...GOOD, ...OIDC, ...env });
    assert.ok(config.ok && config.value.driver.kind === "oidc");
    return config.value.driver.rules;
  };
  const google = await rules({ WEBVIEW_OIDC_ISSUER: "https://accounts.google.com" });
  assert.equal(google.isMultiTenant, true);
  assert.equal((await rules({ WEBVIEW_OIDC_TENANTS: "Example.org" })).isMultiTenant, true);
});

const ROWS: readonly [string, Readonly<Record<string, string>>, RegExp][] = [
  [
    "oidc, also when no driver is named,",
    { WEBVIEW_AUTH_DRIVER: "" },
    /^WEBVIEW_OIDC_ISSUER: not set/,
  ],
  [
    "entra without an issuer",
    { ...OIDC, WEBVIEW_OIDC_ISSUER: "" },
    /^WEBVIEW_OIDC_ISSUER: not set/,
  ],
  ["google without a client", { ...OIDC, WEBVIEW_OIDC_CLIENT_ID: "" }, /^WEBVIEW_OIDC_CLIENT_ID/],
  ["oidc without a page address", { ...OIDC, WEBVIEW_URL: "" }, /^WEBVIEW_URL: not set/],
  ["oidc at an http address", { ...OIDC, WEBVIEW_URL: "http://cockpit.lan" }, /WEBVIEW_URL.*https/],
  [
    "oidc at an address with a path",
    { ...OIDC, WEBVIEW_URL: "https://a.example/x" },
    /WEBVIEW_URL: contains a path/,
  ],
  ["an http issuer", { ...OIDC, WEBVIEW_OIDC_ISSUER: "http://idp.lan" }, /ISSUER: is not https/],
  [
    "an issuer with a query",
    { ...OIDC, WEBVIEW_OIDC_ISSUER: "https://idp.example/?x" },
    /ISSUER: contains more than a path/,
  ],
  ["an invalid issuer", { ...OIDC, WEBVIEW_OIDC_ISSUER: "idp" }, /ISSUER.*issuer URL/],
  [
    "an issuer of every tenant",
    { ...OIDC, WEBVIEW_OIDC_ISSUER: "https://login.microsoftonline.com/common/v2.0" },
    /means all tenants/,
  ],
  ["an unknown claim", { ...OIDC, WEBVIEW_OIDC_CLAIMS: "email,nickname" }, /WEBVIEW_OIDC_CLAIMS/],
  ["an unknown prefix", { WEBVIEW_COOKIE_PREFIX: "__Http-" }, /WEBVIEW_COOKIE_PREFIX/],
  [
    "an unknown driver",
    { WEBVIEW_AUTH_DRIVER: "ldap" },
    /WEBVIEW_AUTH_DRIVER: value is "ldap", must be/,
  ],
  ["no users", { WEBVIEW_BASIC_USERS: "" }, /WEBVIEW_BASIC_USERS: not set, must be set when/],
  [
    "an empty password",
    { WEBVIEW_BASIC_USERS: "a:" },
    /WEBVIEW_BASIC_USERS: entry 1 of 1 has an empty password/,
  ],
  [
    "a user twice",
    { WEBVIEW_BASIC_USERS: "a:sesame,a:sesame" },
    /entry 2 of 2 has the same name as another/,
  ],
  ["no key", { WEBVIEW_HMAC_KEY: "" }, /^WEBVIEW_HMAC_KEY: not set/],
  ["a short key", { WEBVIEW_HMAC_KEY: "sesame" }, /^WEBVIEW_HMAC_KEY: the key is shorter/],
  [
    "a short assertion key",
    { WEBVIEW_ASSERTION_KEY: "sesame" },
    /^WEBVIEW_ASSERTION_KEY: the key is shorter/,
  ],
  ["no lifetime", { WEBVIEW_SESSION_TTL: "0" }, /WEBVIEW_SESSION_TTL.*too short/],
  ["a negative lifetime", { WEBVIEW_SESSION_TTL: "-1d" }, /WEBVIEW_SESSION_TTL/],
  ["an endless lifetime", { WEBVIEW_SESSION_TTL: "9999d" }, /WEBVIEW_SESSION_TTL.*too long/],
  [
    "an invalid lifetime",
    { WEBVIEW_SESSION_TTL: "soon" },
    /WEBVIEW_SESSION_TTL.*must be a duration/,
  ],
  ["every proxy", { WEBVIEW_TRUSTED_PROXIES: "0.0.0.0/0" }, /would trust every client/],
  ["every IPv6 proxy", { WEBVIEW_TRUSTED_PROXIES: "::/0" }, /would trust every client/],
  [
    "every mapped proxy",
    { WEBVIEW_TRUSTED_PROXIES: "::ffff:0.0.0.0/96" },
    /would trust every client/,
  ],
  [
    "every proxy as two networks",
    { WEBVIEW_TRUSTED_PROXIES: "128.0.0.0/1,10.0.0.0/8,0.0.0.0/1" },
    /would trust every client/,
  ],
  [
    "every IPv6 proxy as several networks",
    { WEBVIEW_TRUSTED_PROXIES: "8000::/1,4000::/2,::/2" },
    /would trust every client/,
  ],
  ["a proxy by name", { WEBVIEW_TRUSTED_PROXIES: "proxy.lan" }, /must be an address or a network/],
  [
    "an upstream with a path",
    { WEBVIEW_UPSTREAM: "http://127.0.0.1:1/x" },
    /WEBVIEW_UPSTREAM: contains a path/,
  ],
  ["an upstream by https", { WEBVIEW_UPSTREAM: "https://127.0.0.1:1" }, /WEBVIEW_UPSTREAM/],
  ["no address", { WEBVIEW_LOGIN_LISTEN: "8736" }, /WEBVIEW_LOGIN_LISTEN.*host:port/],
];
for (const [name, env, wanted] of ROWS) {
  Deno.test(`readLoginConfig() refuses ${name}`, async () => {
    const config = await readLoginConfig({ ...GOOD, ...env });
    assert.ok(!config.ok);
    assert.deepEqual([config.error.code, config.error.kind], ["settings-invalid", "settings"]);
    const details = config.error.details.join("\n");
    assert.match(details, wanted);
    assert.ok(!details.includes("sesame"), "a fault holds no secret");
  });
}

Deno.test("readLoginConfig() names every fault at once", async () => {
  const config = await readLoginConfig({
    WEBVIEW_LOGIN_LISTEN: "x",
    WEBVIEW_SESSION_TTL: "x",
    WEBVIEW_ASSERTION_KEY: "x",
  });
  assert.ok(!config.ok);
  assert.deepEqual(config.error.details.map((line) => line.split(":")[0]), [
    "WEBVIEW_LOGIN_LISTEN",
    "WEBVIEW_OIDC_ISSUER",
    "WEBVIEW_OIDC_CLIENT_ID",
    "WEBVIEW_HMAC_KEY",
    "WEBVIEW_SESSION_TTL",
    "WEBVIEW_URL",
    "WEBVIEW_ASSERTION_KEY",
  ]);
});

Deno.test("readLoginConfig() warns about weak settings", async () => {
  const warned = async (env: Readonly<Record<string, string>>) => {
    const config = await readLoginConfig({ ...GOOD, ...env });
    assert.ok(config.ok);
    return config.value.warnings.join("\n");
  };
  const local = { WEBVIEW_LOGIN_LISTEN: "127.0.0.1:0" };
  assert.match(await warned({}), /without TLS/);
  assert.doesNotMatch(await warned(local), /without TLS/);
  assert.match(await warned({ WEBVIEW_ASSERTION_KEY: "" }), /without a proof/);
  assert.match(await warned({ WEBVIEW_URL: "http://cockpit.lan" }), /WEBVIEW_URL: is not https/);
  assert.match(
    await warned({ WEBVIEW_URL: "https://a.example/x" }),
    /WEBVIEW_URL: contains a path/,
  );
  assert.doesNotMatch(await warned({ WEBVIEW_URL: "https://a.example" }), /WEBVIEW_URL/);
  const short = "new:16-characters-12,old:0123456789abcdef0123456789abcdef";
  for (const name of ["WEBVIEW_HMAC_KEY", "WEBVIEW_ASSERTION_KEY"]) {
    const long = "0123456789abcdef0123456789abcdef";
    const said32 = await warned({ ...local, [name]: long });
    assert.doesNotMatch(said32, new RegExp(`${name} contains a key of fewer`));
    const lines = await warned({ ...local, [name]: short });
    assert.match(lines, new RegExp(`${name} contains a key of fewer than 32 characters`));
    assert.ok(!lines.includes("16-characters-12"), "never the key");
  }
  assert.match(await warned(local), /1 plain passwords/);
  assert.match(await warned({ WEBVIEW_BASIC_USERS: "mia:x" }), /"mia" is not an e-mail address/);
});
