/**
 * Host names that the cockpit accepts, checked byte by byte. After DNS rebinding, a foreign page
 * reaches this machine under its own name, which is in `Host`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { startTestGateway } from "tests/support/gateway_fixture.ts";
import { receiveText, sendText } from "tests/support/wire.ts";

const ROWS: readonly [string, Readonly<Record<string, string>>, string, boolean][] = [
  ["loopback", { WEBVIEW_TRUST: "header" }, "127.0.0.1:8731", true],
  ["localhost", { WEBVIEW_TRUST: "header" }, "localhost", true],
  ["IPv6 loopback", { WEBVIEW_TRUST: "header" }, "[::1]:8731", true],
  ["a name of another site", { WEBVIEW_TRUST: "header" }, "evil.example", false],
  [
    "a configured name",
    { WEBVIEW_TRUST: "header", WEBVIEW_HOSTS: "fleet.example" },
    "Fleet.example:443",
    true,
  ],
  [
    "a subdomain of a configured name",
    { WEBVIEW_TRUST: "header", WEBVIEW_HOSTS: "fleet.example" },
    "x.fleet.example",
    false,
  ],
  [
    "a name that only begins like a configured one",
    { WEBVIEW_TRUST: "header", WEBVIEW_HOSTS: "fleet.example" },
    "fleet.example.evil.example",
    false,
  ],
  ["any name, with only the older settings", {}, "evil.example", true],
];
for (const [name, env, host, answers] of ROWS) {
  Deno.test(`the cockpit ${answers ? "answers" : "refuses"} ${name}`, async () => {
    await using running = await startTestGateway({ env });
    for (const path of ["/", "/api/agents", "/api/version", "/nowhere"]) {
      const { hostname, port } = new URL(running.cockpitUrl);
      using connection = await Deno.connect({ hostname, port: Number(port) });
      await sendText(
        connection,
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nX-User-Email: mia@example.org\r\n` +
          `Connection: close\r\n\r\n`,
      );
      const text = await receiveText(connection);
      assert.equal(/^HTTP\/1\.1 421 /.test(text), !answers, `${path}: ${text.slice(0, 80)}`);
    }
  });
}
