/**
 * The HTTPS front of the login proxy. The printed blocks are those of docs/login.md, which are
 * tested with real servers. The doctor finds what a front fails to pass on, from the answers of the
 * proxy itself.
 *
 * @module
 */

import assert from "node:assert/strict";
import { frontProblems } from "cli/verbs/webview_login/doctor.ts";
import { frontUpstream, printFront } from "cli/webview_login/login_front.ts";
import { createLoginRig } from "tests/support/login_fixture.ts";
import { TREE } from "tests/support/module_graph.ts";

const BASE = "https://cockpit.example.org";
const ID = "doctor-1";

Deno.test("the printed fronts are those of docs/login.md", async () => {
  const page = await Deno.readTextFile(`${TREE}docs/login.md`);
  const site = { url: new URL(BASE), upstream: "127.0.0.1:8736" };
  for (const [kind, language] of [["nginx", "nginx"], ["caddy", "caddyfile"]] as const) {
    const block = page.split(`\`\`\`${language}\n`)[1]?.split("```")[0];
    assert.equal(printFront(kind, site), block);
  }
});

Deno.test("a front has the port and the listener of its host", () => {
  const site = { url: new URL("https://c.lan:8443"), upstream: frontUpstream("[::]:9000") };
  assert.match(
    printFront("nginx", site),
    /listen 8443 ssl http2;[^]*proxy_pass http:\/\/\[::1\]:9000;/,
  );
  assert.match(printFront("caddy", site), /^c\.lan:8443 \{\n {2}reverse_proxy \[::1\]:9000 /);
  assert.equal(frontUpstream("0.0.0.0:8736"), "127.0.0.1:8736");
  assert.equal(frontUpstream("10.0.0.5:8736"), "10.0.0.5:8736");
});

const PROXIED = {
  host: "cockpit.example.org",
  "x-forwarded-host": "cockpit.example.org",
  "x-forwarded-proto": "https",
  "x-request-id": ID,
};

/** What a front passes on, from where, and the doctor's report. */
const ROWS: readonly (readonly [string, Record<string, string>, string, readonly string[]])[] = [
  ["passes everything on", PROXIED, "127.0.0.1:1", []],
  ["does not send the scheme", { ...PROXIED, "x-forwarded-proto": "" }, "127.0.0.1:1", [
    "login-front-scheme",
  ]],
  ["is no trusted proxy", PROXIED, "10.0.0.7:1", ["login-front-scheme"]],
  ["sends its own name as the host", { ...PROXIED, host: "front.lan" }, "10.0.0.7:1", [
    "login-front-host",
  ]],
  ["drops the request id", { ...PROXIED, "x-request-id": "" }, "127.0.0.1:1", [
    "login-front-request-id",
  ]],
];
for (const [name, headers, peer, wanted] of ROWS) {
  Deno.test(`the doctor recognizes a front that ${name}`, async () => {
    const rig = await createLoginRig({ env: { WEBVIEW_URL: BASE } });
    const answer = await rig.ask(`${BASE}/auth/login`, {
      headers: { accept: "application/json", ...headers },
      peer,
    });
    const found = frontProblems(answer, { base: BASE, requestId: ID }).map(({ code }) => code);
    assert.deepEqual(found, wanted);
  });
}

Deno.test("the doctor recognizes a front that leads to another server", () => {
  for (const answer of [new Response("hello"), new Response(null, { status: 502 })]) {
    const found = frontProblems(answer, { base: BASE, requestId: ID }).map(({ code }) => code);
    assert.deepEqual(found, ["login-front-elsewhere"]);
  }
});
