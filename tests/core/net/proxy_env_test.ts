/**
 * Which requests use the proxy from the environment: by scheme, and never those to this machine.
 *
 * @module
 */

import assert from "node:assert/strict";
import { isForProxy, PROXY_VARIABLES } from "core/net/proxy_env.ts";
import projectConfig from "deno.json" with { type: "json" };

const PROXY = "http://proxy.test:8080";

const ROWS: readonly (readonly [Readonly<Record<string, string>>, string, boolean])[] = [
  [{}, "https://smba.test", false],
  [{ HTTPS_PROXY: PROXY }, "https://smba.test", true],
  [{ https_proxy: PROXY }, "https://smba.test/teams/v3", true],
  [{ ALL_PROXY: PROXY }, "https://smba.test", true],
  [{ all_proxy: PROXY }, "http://smba.test", true],
  [{ HTTPS_PROXY: "" }, "https://smba.test", false],
  [{ HTTPS_PROXY: PROXY }, "http://smba.test", false],
  [{ HTTP_PROXY: PROXY }, "https://smba.test", false],
  [{ HTTP_PROXY: PROXY }, "http://smba.test", true],
  // The sender evaluates `NO_PROXY`.
  [{ HTTPS_PROXY: PROXY, NO_PROXY: "smba.test" }, "https://smba.test", true],
  [{ HTTP_PROXY: PROXY, ALL_PROXY: PROXY }, "http://127.0.0.1:3979", false],
  [{ HTTP_PROXY: PROXY }, "http://localhost:3979", false],
  [{ HTTP_PROXY: PROXY }, "http://[::1]:3979", false],
  [{ HTTPS_PROXY: PROXY }, "https://127.0.0.1.smba.test", true],
];

for (const [env, url, wanted] of ROWS) {
  Deno.test(`isForProxy(${url}) with ${JSON.stringify(env)} is ${wanted}`, () => {
    assert.equal(isForProxy(url, (name) => env[name]), wanted);
  });
}

Deno.test("the team-chat gateway may read each variable that names a proxy", () => {
  const { allow } = projectConfig.permissions.teamchat.env;
  assert.deepEqual(PROXY_VARIABLES.filter((name) => !allow.includes(name)), []);
});
