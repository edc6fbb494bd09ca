/**
 * The login proxy against a fake cockpit: which requests pass, which headers the cockpit gets, and
 * how the others are answered.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  basicHeader,
  BOB,
  cookieOf,
  createLoginRig,
  MIA,
  NAVIGATION,
  ORIGIN,
  OWN_SCRIPT,
  proxyRequestOf,
} from "tests/support/login_fixture.ts";

function test(name: string, run: () => Promise<void>): void {
  Deno.test({ name, sanitizeOps: true, sanitizeResources: true, fn: run });
}

async function codeOf(answer: Response): Promise<string> {
  assert.equal(answer.headers.get("content-type"), "application/problem+json");
  return (await answer.json()).code;
}

test("handle() leads a person to the login form and back to where they wanted", async () => {
  const rig = await createLoginRig();
  const first = await rig.ask("/agents/ada?tab=1", { headers: NAVIGATION });
  assert.equal(first.status, 303);
  assert.equal(first.headers.get("location"), "/auth/login?next=%2Fagents%2Fada%3Ftab%3D1");
  const done = await rig.logIn(MIA, { next: "/agents/ada?tab=1" });
  assert.deepEqual([done.status, done.headers.get("location")], [303, "/agents/ada?tab=1"]);
  assert.equal(rig.seen.length, 0);
});

test("handle() passes a logged-in request on with identity and assertion", async () => {
  const rig = await createLoginRig();
  const cookie = await rig.session();
  const answer = await rig.ask("/api/agents?x=1", { headers: { cookie: `a=1; ${cookie}` } });
  assert.deepEqual([answer.status, await answer.text()], [200, "ok"]);
  const [seen] = rig.seen;
  assert.equal(seen?.path, "/api/agents");
  assert.equal(seen.headers.get("x-user-email"), MIA.name);
  assert.equal(seen.asserted, MIA.name);
  assert.equal(seen.headers.get("cookie"), "a=1", "the session is for the proxy alone");
  assert.equal(seen.headers.get("x-request-id"), answer.headers.get("x-request-id"));
  assert.equal(rig.leases.count(), 0, "the lease of an answered request is given back");
});

test("handle() drops every spelling of the headers that only the proxy may set", async () => {
  const rig = await createLoginRig();
  const cookie = await rig.session();
  const forged = {
    "X-User-Email": "eve@example.org",
    "x_user_email": "eve@example.org",
    "X-User_Email": "eve@example.org",
    "x.user.email": "eve@example.org",
    "X-Fleetctl-Assertion": "forged",
    "x_fleetctl_assertion": "forged",
    "X_Forwarded_For": "6.6.6.6",
    "X-Real-IP": "6.6.6.6",
    "Forwarded": "for=6.6.6.6",
    "Authorization": "Bearer abc",
    "Connection": "close, X-User-Email, X-Fleetctl-Assertion, X-Private",
    "X-Private": "hop",
    "Te": "trailers",
    ...Object.fromEntries([
      "X-Original-URL",
      "X_Original_URI",
      "X-Rewrite-Url",
      "X-HTTP-Method-Override",
      "X-Method-Override",
      "X-HTTP-Method",
      "Remote-User",
      "X-Remote-User",
      "REMOTE_USER",
      "X-Auth-Request-Email",
      "X-WebAuth-User",
      "X-Authenticated-User",
      "Tailscale-User-Login",
      "Cf-Access-Authenticated-User-Email",
      "X-Goog-Authenticated-User-Email",
      "X-Ms-Client-Principal",
      "X-Amzn-Oidc-Identity",
      "Ssl-Client-S-Dn",
      "X-Client-Cert",
    ].map((name) => [name, "chosen-by-the-client"])),
  };
  for (const path of ["/api/agents", "/icons/a.png"]) {
    const headers = new Headers({ ...forged, cookie });
    headers.append("x-user-email", "twice@example.org");
    const answer = await rig.ask(path, { headers, peer: "10.1.1.1:5000" });
    assert.equal(answer.status, 200);
    const seen = rig.seen.at(-1)!;
    const text = JSON.stringify([...seen.headers]);
    for (
      const bad of [
        "eve@",
        "twice@",
        "6.6.6.6",
        "Bearer",
        "forged",
        "hop",
        "trailers",
        "chosen-by-the-client",
      ]
    ) {
      assert.ok(!text.includes(bad), `${path} passes ${bad} on: ${text}`);
    }
    const isExempt = path === "/icons/a.png";
    assert.equal(seen.headers.get("x-user-email"), isExempt ? null : MIA.name);
    assert.equal(seen.asserted, isExempt ? undefined : MIA.name);
    assert.equal(seen.headers.get("cookie"), null);
    assert.equal(seen.headers.get("x-forwarded-for"), "10.1.1.1");
  }
});

test("handle() lets the exempt paths pass, in exactly one spelling", async () => {
  const rig = await createLoginRig();
  const rows: readonly [string, string, boolean][] = [
    ["GET", "/manifest.webmanifest", true],
    ["GET", "/sw.js", true],
    ["HEAD", "/sw.js", true],
    ["GET", "/icons/a.png", true],
    ["GET", "/fonts/a.woff2?v=1", true],
    ["POST", "/sw.js", false],
    ["GET", "/icons/", false],
    ["GET", "/sw.js/", false],
    ["GET", "/SW.js", false],
    ["GET", "/icons/../api/turns", false],
    ["GET", "/icons/%2e%2e/api/turns", false],
    ["GET", "/icons/..%2fapi/turns", false],
    ["GET", "/icons/a;b", false],
    ["GET", "/icons//a", false],
    ["GET", "/icons/a%00", false],
    ["GET", "/icons/a%23", false],
    ["GET", "/icons\\..\\api", false],
    ["GET", "/api/agents?x=/icons/a", false],
  ];
  for (const [method, path, passes] of rows) {
    const before = rig.seen.length;
    const answer = await rig.ask(path, { method, headers: { accept: "*/*" } });
    assert.equal(answer.status, passes ? 200 : 401, `${method} ${path}`);
    assert.equal(rig.seen.length - before, passes ? 1 : 0, `${method} ${path}`);
    if (passes) assert.equal(rig.seen.at(-1)?.headers.get("x-user-email"), null);
  }
});

test("handle() answers 401 to programs without a session, and challenges scripts", async () => {
  const rig = await createLoginRig();
  const script = await rig.ask("/api/agents", { headers: { accept: "*/*" } });
  assert.equal(script.status, 401);
  assert.match(script.headers.get("www-authenticate") ?? "", /^Basic /);
  assert.equal(await codeOf(script), "login-required");
  const stream = await rig.ask("/events", {
    headers: { ...OWN_SCRIPT, accept: "text/event-stream" },
  });
  assert.equal(stream.status, 401);
  assert.match(stream.headers.get("www-authenticate") ?? "", /^Session /);
  const fetched = await rig.ask("/", { headers: { ...OWN_SCRIPT, accept: "text/html" } });
  assert.equal(fetched.status, 401, "a script that asks for HTML is no navigation");
});

test("handle() accepts the Basic header on any path; the login opens a session", async () => {
  const rig = await createLoginRig();
  for (const user of [MIA, BOB, MIA]) {
    const answer = await rig.ask("/api/agents", { headers: { authorization: basicHeader(user) } });
    assert.equal(answer.status, 200);
    assert.equal(rig.seen.at(-1)?.asserted, user.name);
    assert.equal(rig.seen.at(-1)?.headers.get("authorization"), null);
  }
  const login = await rig.ask("/auth/login", { headers: { authorization: basicHeader(BOB) } });
  assert.equal(login.status, 303);
  const cookie = cookieOf(login, "wv_session")!;
  await rig.ask("/api/agents", { headers: { cookie } });
  assert.equal(rig.seen.at(-1)?.asserted, BOB.name);
});

test("handle() refuses a change unless it comes from a page of this origin", async () => {
  const rig = await createLoginRig();
  const cookie = await rig.session();
  const rows: readonly [string, Record<string, string>, number][] = [
    ["a page of this origin", { ...OWN_SCRIPT, cookie }, 200],
    ["a page of this origin without fetch metadata", { origin: ORIGIN, cookie }, 200],
    [
      "another site",
      { "sec-fetch-site": "cross-site", origin: "http://evil.example", cookie },
      403,
    ],
    ["a sibling", { "sec-fetch-site": "same-site", cookie }, 403],
    ["another origin", { origin: "http://evil.example", cookie }, 403],
    ["another port", { origin: "http://localhost:1", cookie }, 403],
    ["an invalid origin", { origin: "null", cookie }, 403],
    ["no proof with a cookie", { cookie }, 403],
    ["no proof with a password", { authorization: basicHeader(MIA) }, 200],
    [
      "a password in a request that another site caused",
      { authorization: basicHeader(MIA), "sec-fetch-site": "cross-site" },
      403,
    ],
  ];
  for (const [name, headers, status] of rows) {
    const before = rig.seen.length;
    const answer = await rig.ask("/api/turns", { method: "POST", headers, body: "{}" });
    assert.equal(answer.status, status, name);
    assert.equal(rig.seen.length - before, status === 200 ? 1 : 0, name);
    if (status === 403) assert.equal(await codeOf(answer), "cross-site", name);
  }
});

test("handle() bounds bodies by stated length and by received bytes", async () => {
  const rig = await createLoginRig();
  const cookie = await rig.session();
  const headers = { ...OWN_SCRIPT, cookie };
  const stated = await rig.ask("/api/turns", {
    method: "POST",
    headers: { ...headers, "content-length": String(17 * 1024 * 1024) },
    body: "x",
  });
  assert.deepEqual([stated.status, await codeOf(stated)], [413, "body-too-large"]);
  const chunk = new Uint8Array(1024 * 1024);
  let sent = 0;
  const endless = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: (controller) => {
      sent++;
      controller.enqueue(chunk);
    },
  });
  const streamed = await rig.ask("/api/turns", { method: "POST", headers, body: endless });
  assert.deepEqual([streamed.status, await codeOf(streamed)], [413, "body-too-large"]);
  assert.ok(sent < 24, `${sent} MiB were taken`);
  assert.equal(rig.leases.count(), 0);
});

test("handle() reports an unreachable cockpit to people and to programs", async () => {
  const rig = await createLoginRig({
    cockpit: () => {
      throw new TypeError("connection refused at 127.0.0.1:8731");
    },
  });
  const cookie = await rig.session();
  const person = await rig.ask("/", { headers: { ...NAVIGATION, cookie } });
  assert.equal(person.status, 502);
  assert.match(person.headers.get("content-type") ?? "", /^text\/html/);
  assert.ok(!(await person.text()).includes(":8731"), "what is behind the proxy is not told");
  const program = await rig.ask("/api/agents", { headers: { cookie } });
  assert.deepEqual([program.status, await codeOf(program)], [502, "cockpit-unreachable"]);
  assert.ok(rig.host.log.of("cockpit not reachable").length === 2);
});

test("handle() gives up on a cockpit that never answers", async () => {
  const rig = await createLoginRig({
    cockpit: (request) =>
      new Promise((_, reject) =>
        request.signal.addEventListener("abort", () => reject(request.signal.reason))
      ),
  });
  const cookie = await rig.session();
  const asked = rig.ask("/api/agents", { headers: { cookie } });
  while (rig.seen.length === 0) await rig.host.clock.advance(0);
  await rig.host.clock.advance(60_000);
  const answer = await asked;
  assert.deepEqual([answer.status, await codeOf(answer)], [504, "cockpit-silent"]);
});

test("handle() refuses invalid hosts, and unknown paths under /auth", async () => {
  const rig = await createLoginRig();
  for (const host of ["a/b", "a@b", "a?b", "a, b", "", "a b", "a:99999999"]) {
    const answer = await rig.ask("/api/agents", { headers: { host } });
    assert.deepEqual([answer.status, await codeOf(answer)], [400, "host-invalid"], host);
  }
  for (const path of ["/auth", "/auth/", "/auth/callback", "/auth/login/x"]) {
    const answer = await rig.ask(path);
    assert.deepEqual([answer.status, await codeOf(answer)], [404, "path-unknown"], path);
  }
});

test("handle() keeps a valid request id and replaces any other", async () => {
  const rig = await createLoginRig();
  for (
    const [given, kept] of [["abc-1.2_3", true], ["", false], ["a b", false], [
      "x".repeat(65),
      false,
    ]]
  ) {
    const answer = await rig.ask("/api/x", { headers: { "x-request-id": String(given) } });
    const id = answer.headers.get("x-request-id") ?? "";
    assert.equal(id === given, kept);
    assert.match(id, /^[A-Za-z0-9._-]{1,64}$/);
  }
});

test("handle() adds headers to every answer, and keeps the cockpit's own", async () => {
  const rig = await createLoginRig({
    cockpit: () =>
      new Response("x", {
        headers: { "referrer-policy": "no-referrer", connection: "x-hop", "x-hop": "1" },
      }),
  });
  const cookie = await rig.session();
  const own = await rig.ask("/auth/login", { headers: NAVIGATION });
  const passed = await rig.ask("/", { headers: { cookie } });
  for (const answer of [own, passed]) {
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    assert.equal(answer.headers.get("x-frame-options"), "DENY");
    assert.equal(answer.headers.get("cross-origin-opener-policy"), "same-origin");
    assert.equal(answer.headers.get("strict-transport-security"), null, "not over http");
  }
  assert.equal(passed.headers.get("referrer-policy"), "no-referrer");
  assert.equal(passed.headers.get("x-hop"), null);
  assert.equal(
    own.headers.get("content-security-policy"),
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; " +
      "base-uri 'none'; frame-ancestors 'none'",
  );
  const secure = await rig.ask("/auth/login", {
    headers: { ...NAVIGATION, "x-forwarded-proto": "https" },
  });
  assert.match(secure.headers.get("strict-transport-security") ?? "", /^max-age=\d+$/);
});

test("handle() never lets the cockpit set a cookie of the login proxy", async () => {
  const rig = await createLoginRig({
    cockpit: () =>
      new Response("x", {
        headers: [["set-cookie", "wv_session=x"], ["set-cookie", "theme=dark"]],
      }),
  });
  const cookie = await rig.session();
  const answer = await rig.ask("/", { headers: { cookie } });
  assert.deepEqual(answer.headers.getSetCookie(), ["theme=dark"]);
});

test("upgrade() tunnels only a WebSocket of a page of this origin", async () => {
  const rig = await createLoginRig();
  const cookie = await rig.session();
  const rows: readonly [string, Record<string, string>, number | "tunnel"][] = [
    ["a page of this origin", { cookie, origin: ORIGIN }, "tunnel"],
    ["a script with a password", { authorization: basicHeader(MIA) }, "tunnel"],
    ["nobody", { origin: ORIGIN }, 401],
    ["no origin with a cookie", { cookie }, 403],
    ["another origin", { cookie, origin: "http://evil.example" }, 403],
    ["another port", { cookie, origin: "http://localhost:1" }, 403],
    ["fetch metadata alone", { cookie, "sec-fetch-site": "same-origin" }, 403],
    ["another site", { cookie, origin: ORIGIN, "sec-fetch-site": "cross-site" }, 403],
    ["another protocol", { cookie, origin: ORIGIN, upgrade: "h2c" }, 400],
    ["an invalid host", { cookie, origin: ORIGIN, host: "a/b" }, 400],
  ];
  for (const [name, headers, wanted] of rows) {
    const request = new Request(`${ORIGIN}/terminal/x?y`, {
      headers: { host: "localhost:8736", upgrade: "websocket", ...headers },
    });
    const decided = await rig.app.upgrade(proxyRequestOf(request), "127.0.0.1:1");
    if (decided.accept === "tunnel") {
      assert.equal(wanted, "tunnel", name);
      assert.equal(decided.tunnel.target, "/terminal/x?y");
      assert.equal(decided.tunnel.headers.get("x-user-email"), MIA.name);
      decided.tunnel.onClose();
    } else {
      assert.ok(decided.accept === false);
      assert.equal(decided.response.status, wanted, name);
    }
  }
  assert.equal(rig.leases.count(), 0);
});
