/** Tests of the gateway's settings. @module */

import assert from "node:assert/strict";
import { readGatewayConfig } from "gateway/config.ts";

const GOOD = { WEBVIEW_LEDGER: '{" Mia@Example.org":"mia"}', WEBVIEW_ADMINS: "[]" };

Deno.test("readGatewayConfig() accepts documented settings only, warns of weak ones", async () => {
  const config = await readGatewayConfig(GOOD);
  assert.ok(config.ok);
  assert.deepEqual(config.value.cockpit, { hostname: "127.0.0.1", port: 8731 });
  assert.deepEqual(config.value.dial, { hostname: "0.0.0.0", port: 8735 });
  assert.deepEqual([...config.value.roster.ledger], [["mia@example.org", "mia"]]);
  assert.equal(config.value.trust, "header");
  assert.equal(config.value.hosts, undefined, "any Host, as described");
  assert.equal(config.value.warnings.length, 2);
  assert.match(config.value.warnings[1] ?? "", /any host name.*DNS rebinding/);
});

Deno.test("readGatewayConfig() accepts loopback names, WEBVIEW_HOSTS with the header", async () => {
  for (
    const [env, hosts] of [
      [{ WEBVIEW_TRUST: "header" }, []],
      [{ WEBVIEW_TRUST: "header", WEBVIEW_HOSTS: "fleet.example,10.0.0.5" }, [
        "fleet.example",
        "10.0.0.5",
      ]],
      [{ WEBVIEW_HOSTS: "fleet.example" }, ["fleet.example"]],
    ] as const
  ) {
    const config = await readGatewayConfig({ ...GOOD, ...env });
    assert.ok(config.ok);
    assert.deepEqual(config.value.hosts, hosts);
    assert.doesNotMatch(config.value.warnings.join("\n"), /DNS rebinding/);
  }
});

Deno.test("readGatewayConfig() requires assertions as soon as a key is set", async () => {
  const key = { WEBVIEW_ASSERTION_KEY: "0123456789abcdef0123456789abcdef" };
  const config = await readGatewayConfig({ ...GOOD, ...key });
  assert.ok(config.ok);
  assert.equal(config.value.trust, "assertion");
  assert.deepEqual(config.value.warnings, []);
  const soft = await readGatewayConfig({ ...GOOD, ...key, WEBVIEW_TRUST: "header" });
  assert.ok(soft.ok);
  assert.equal(soft.value.trust, "header");
});

Deno.test("readGatewayConfig() never lets the cockpit listen beyond loopback", async () => {
  const config = await readGatewayConfig({ ...GOOD, WEBVIEW_COCKPIT_LISTEN: "0.0.0.0:9000" });
  assert.ok(config.ok);
  assert.deepEqual(config.value.cockpit, { hostname: "127.0.0.1", port: 9000 });
  assert.match(config.value.warnings[0] ?? "", /WEBVIEW_COCKPIT_LISTEN names the host "0.0.0.0"/);
});

const faults = [
  {
    name: "WEBVIEW_ADMINS",
    env: { WEBVIEW_ADMINS: undefined },
    want: /rendered by an older version/,
  },
  { name: "WEBVIEW_ADMINS", env: { WEBVIEW_ADMINS: "ada" }, want: /must be a JSON list/ },
  { name: "WEBVIEW_LEDGER", env: { WEBVIEW_LEDGER: undefined }, want: /not set/ },
  { name: "WEBVIEW_LEDGER", env: { WEBVIEW_LEDGER: '{"a@b.c":"Bad Name"}' }, want: /a@b\.c/ },
  { name: "WEBVIEW_DIAL_LISTEN", env: { WEBVIEW_DIAL_LISTEN: "8735" }, want: /host:port/ },
  { name: "WEBVIEW_TRUST", env: { WEBVIEW_TRUST: "nothing" }, want: /assertion/ },
  { name: "WEBVIEW_ASSERTION_KEY", env: { WEBVIEW_TRUST: "assertion" }, want: /not set/ },
  {
    name: "WEBVIEW_ASSERTION_KEY",
    env: { WEBVIEW_ASSERTION_KEY: "hunter2" },
    want: /shorter than/,
  },
] as const;
for (const { name, env, want } of faults) {
  Deno.test(`readGatewayConfig() refuses ${JSON.stringify(env)}`, async () => {
    const config = await readGatewayConfig({ ...GOOD, ...env });
    assert.ok(!config.ok);
    assert.equal(config.error.code, "settings-invalid");
    assert.equal(config.error.details.length, 1);
    assert.ok(config.error.details[0]?.startsWith(name));
    assert.match(config.error.details[0] ?? "", want);
    assert.ok(!JSON.stringify(config.error).includes("hunter2"));
  });
}

Deno.test("readGatewayConfig() names all faults at once", async () => {
  const config = await readGatewayConfig({
    WEBVIEW_DIAL_LISTEN: "x",
    WEBVIEW_TRUST: "assertion",
  });
  assert.ok(!config.ok);
  assert.deepEqual(config.error.details.map((line) => line.split(":")[0]), [
    "WEBVIEW_DIAL_LISTEN",
    "WEBVIEW_LEDGER",
    "WEBVIEW_ADMINS",
    "WEBVIEW_ASSERTION_KEY",
  ]);
});
