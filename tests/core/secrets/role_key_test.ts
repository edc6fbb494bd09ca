/**
 * Which values are valid for the keys of the roles, and that no other value can be stored.
 *
 * @module
 */

import assert from "node:assert/strict";
import { GATEWAY_SETTINGS, readGatewayConfig } from "gateway/config.ts";
import type { KeyName } from "core/names.ts";
import { checkRoleKey } from "core/secrets/role_key.ts";

const GOOD = "0123456789abcdef0123456789abcdef";

const ROWS: readonly [key: string, value: string, code: string, says: RegExp][] = [
  ["WEBVIEW_ASSERTION_KEY", "x", "key-ring-invalid", /the key is shorter than 16 characters/],
  ["WEBVIEW_HMAC_KEY", "", "key-ring-invalid", /the key is shorter/],
  ["WEBVIEW_HMAC_KEY", `a:${GOOD},a:${GOOD}`, "key-ring-invalid", /key 2 of 2 has the same name/],
  ["WEBVIEW_HMAC_KEY", GOOD.slice(1), "role-key-weak", /it has 31 bytes, must have at least 32/],
  ["WEBVIEW_ASSERTION_KEY", `a:${GOOD},b:${GOOD.slice(8)}`, "role-key-weak", /key 2 of 2 has 24/],
  ["FLEETCTL_HOST_OP_SECRET", "short", "role-key-weak", /it has 5 bytes/],
  ["WEBVIEW_ASSERTION_KEY", GOOD, "", /^/],
  ["WEBVIEW_ASSERTION_KEY", `a:${GOOD},b:${GOOD}`, "", /^/],
  ["WEBVIEW_HMAC_KEY", "ß".repeat(16), "", /^/],
  ["FLEETCTL_HOST_OP_GRANT_SECRET", GOOD, "", /^/],
  ["CODEHOST_TOKEN", "x", "", /^/],
  ["WEBVIEW_BASIC_USERS", "ada@example.org:correct horse,bob:battery", "", /^/],
];

for (const [key, value, code, says] of ROWS) {
  const what = code === "" ? "takes" : `refuses with ${code}`;
  Deno.test(`checkRoleKey() ${what} ${value.length} characters for ${key}`, () => {
    const checked = checkRoleKey(key as KeyName, value);
    assert.equal(checked.ok ? "" : checked.error.code, code);
    if (checked.ok) return;
    assert.match(checked.error.message, says);
    assert.ok(value === "" || !checked.error.message.includes(`"${value}"`));
    assert.deepEqual(checked.error.hints, [
      `head -c 32 /dev/urandom | base64 | fleetctl secret set ${key} --value -`,
    ]);
  });
}

Deno.test("checkRoleKey() refuses every value with which the gateway would not start", async () => {
  const key = GATEWAY_SETTINGS.assertionKey.name as KeyName;
  for (const [, value] of ROWS) {
    if (value === "") continue;
    const read = await readGatewayConfig({ [key]: value });
    const faults = read.ok ? [] : read.error.details.filter((fault) => fault.startsWith(key));
    if (faults.length > 0) assert.ok(!checkRoleKey(key, value).ok, faults.join());
  }
});

Deno.test("checkRoleKey() refuses a list of users with which no one could log in", () => {
  for (const value of ["nopassword", "ada:", "ada:secret-word,ada:other-word", ","]) {
    const checked = checkRoleKey("WEBVIEW_BASIC_USERS" as KeyName, value);
    assert.ok(!checked.ok, value);
    assert.equal(checked.error.code, "basic-users-invalid");
    assert.ok(checked.error.details.length > 0);
    assert.doesNotMatch(JSON.stringify(checked.error), /secret-word|other-word|nopassword/);
  }
});
