/**
 * The inline refresh: an expired session is renewed while the provider agrees, and a copied
 * reference is worthless.
 *
 * @module
 */

import assert from "node:assert/strict";
import { ADA, type Browser, createOidcRig, type OidcRig } from "tests/support/oidc_fixture.ts";
import { ORIGIN } from "tests/support/login_fixture.ts";

const HOUR = 3_600_000;

function test(name: string, run: (rig: OidcRig, browser: Browser) => Promise<void>): void {
  Deno.test({
    name,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      const rig = await createOidcRig({ env: { WEBVIEW_SESSION_TTL: "1h" } });
      const browser = rig.browser();
      assert.equal((await browser.signIn()).status, 303);
      await rig.host.clock.advance(2 * HOUR);
      await run(rig, browser);
    },
  });
}

const refreshes = (rig: OidcRig) =>
  rig.provider.requests.filter((one) => one === "POST /token").length;

test(
  "a person whose session expired gets a new one, and stays on the page",
  async (rig, browser) => {
    const [session, reference] = ["wv_session", "wv_refresh_ref"].map((one) =>
      browser.cookies.get(one)
    );
    const answer = await browser.ask("/agents/ada?tab=1");
    assert.deepEqual([answer.status, answer.headers.get("location")], [303, "/agents/ada?tab=1"]);
    assert.notEqual(browser.cookies.get("wv_session"), session);
    assert.notEqual(browser.cookies.get("wv_refresh_ref"), reference, "rotated");
    assert.equal((await browser.ask("/agents/ada")).status, 200);
    assert.equal(rig.seen.at(-1)?.asserted, "ada@example.org");
  },
);

test("a program gets 401 and refreshes nothing", async (rig, browser) => {
  const headers = { accept: "*/*", "sec-fetch-mode": "cors" };
  assert.equal((await browser.ask("/api/x", { headers })).status, 401);
  assert.equal(refreshes(rig), 1, "the sign-in alone");
});

test("a reused reference counts as copied, and ends its family", async (rig, browser) => {
  const thief = rig.browser();
  thief.cookies.set("wv_refresh_ref", browser.cookies.get("wv_refresh_ref") ?? "");
  await browser.ask("/");
  await rig.host.clock.advance(HOUR / 2);
  const again = await thief.ask("/");
  assert.match(again.headers.get("location") ?? "", /^\/auth\/login/);
  assert.equal(thief.cookies.has("wv_session"), false);
  assert.equal(refreshes(rig), 2, "the provider was not asked");
  await rig.host.clock.advance(HOUR);
  const owner = await browser.ask("/");
  assert.match(owner.headers.get("location") ?? "", /^\/auth\/login/, "nor is the newest any good");
});

test("tabs that refresh at the same time share one refresh", async (rig, browser) => {
  const reference = browser.cookies.get("wv_refresh_ref") ?? "";
  const answers = await Promise.all(Array.from({ length: 5 }, () => {
    const tab = rig.browser();
    tab.cookies.set("wv_refresh_ref", reference);
    return tab.ask("/x").then((answer) => ({ answer, tab }));
  }));
  for (const { answer, tab } of answers) {
    assert.equal(answer.headers.get("location"), "/x");
    assert.ok(tab.cookies.has("wv_session"));
  }
  assert.equal(refreshes(rig), 2);
});

const ENDS: readonly (readonly [string, (rig: OidcRig, browser: Browser) => unknown])[] = [
  ["a logout", (_, { ask }) => ask("/auth/logout", { headers: { "sec-fetch-site": "none" } })],
  ["the end of all sessions", ({ store }) => store.endAll("ada@example.org")],
  ["a refresh of another process", async (rig) => {
    const db = await rig.host.databases.open("/r/login.db");
    db.exec("update refreshes set used = 1");
  }],
];

for (const [name, end] of ENDS) {
  test(`a refresh under way opens nothing after ${name}`, async (rig, browser) => {
    const tab = rig.browser();
    for (const [key, value] of browser.cookies) tab.cookies.set(key, value);
    const before = rig.store.list().length;
    const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    rig.provider.lies.token = async (token) => {
      asked.resolve();
      await gate.promise;
      return token;
    };
    const answer = tab.ask("/x");
    await asked.promise;
    await end(rig, browser);
    gate.resolve();
    assert.match((await answer).headers.get("location") ?? "", /^\/auth\/login/);
    assert.deepEqual(["wv_session", "wv_refresh_ref"].map((one) => tab.cookies.has(one)), [
      false,
      false,
    ]);
    assert.ok(rig.store.list().length <= before, "no session was opened");
    const db = await rig.host.databases.open("/r/login.db");
    assert.equal(db.prepare("select * from refreshes where used = 0").all().length, 0);
  });
}

test(
  "a logout with cookies from before a refresh ends the new session",
  async (rig, browser) => {
    const tab = rig.browser();
    for (const [key, value] of browser.cookies) tab.cookies.set(key, value);
    assert.equal((await browser.ask("/x")).headers.get("location"), "/x");
    const cookie = `wv_session=${browser.cookies.get("wv_session")}`;
    assert.equal((await rig.ask("/api/x", { headers: { cookie } })).status, 200);
    // The tab that logs out has not yet received the answer of the refresh.
    await tab.ask("/auth/logout", { headers: { "sec-fetch-site": "none" } });
    const seen = rig.seen.length;
    assert.equal((await rig.ask("/api/x", { headers: { cookie } })).status, 401);
    assert.equal(rig.seen.length, seen);
    assert.deepEqual(rig.store.list(), []);
  },
);

test(
  "a copied reference ends the owner's session and its open requests",
  async (rig, browser) => {
    const copied = browser.cookies.get("wv_refresh_ref") ?? "";
    assert.equal((await browser.ask("/x")).headers.get("location"), "/x");
    const cookie = `wv_session=${browser.cookies.get("wv_session")}`;
    await rig.host.clock.advance(60_000);
    const thief = rig.browser();
    thief.cookies.set("wv_refresh_ref", copied);
    const stolen = await thief.ask("/");
    assert.match(stolen.headers.get("location") ?? "", /^\/auth\/login/);
    assert.equal((await rig.ask("/api/x", { headers: { cookie } })).status, 401);
  },
);

test("a provider that refuses a refresh ends the session", async (rig, browser) => {
  rig.provider.endRefreshTokens();
  const answer = await browser.ask("/");
  assert.match(answer.headers.get("location") ?? "", /^\/auth\/login/);
  assert.equal(browser.cookies.has("wv_refresh_ref"), false);
});

const AWAY: readonly (readonly [string, () => Response | Promise<Response>])[] = [
  ["cannot be reached", () => Promise.reject(new TypeError("no route"))],
  ["answers 503", () => new Response("down", { status: 503 })],
  ["answers 500 with an OAuth error", () => oauthError(500, "server_error")],
  ["answers 429", () => oauthError(429, "slow_down")],
  ["is hidden by the page of a proxy", () => htmlPage(200)],
  ["is hidden by a proxy that forbids", () => htmlPage(403)],
];

function oauthError(status: number, error: string): Response {
  return Response.json({ error }, { status });
}

function htmlPage(status: number): Response {
  return new Response("<h1>Maintenance</h1>", {
    status,
    headers: { "content-type": "text/html" },
  });
}

for (const [name, answer] of AWAY) {
  test(`a provider that ${name} ends nothing, and the page reports it`, async (rig, browser) => {
    const reference = browser.cookies.get("wv_refresh_ref");
    rig.provider.lies.answer = { "/token": () => answer() };
    const away = await browser.ask("/");
    assert.equal(away.status, 503);
    assert.equal(away.headers.get("retry-after"), "5");
    assert.match(await away.text(), /identity provider does not answer. You are still signed in/);
    assert.equal(browser.cookies.get("wv_refresh_ref"), reference);
    delete rig.provider.lies.answer;
    await rig.host.clock.advance(60_000);
    assert.equal((await browser.ask("/")).headers.get("location"), "/");
    assert.equal(browser.cookies.has("wv_session"), true);
  });
}

Deno.test("a logout ends the refresh references of its session in any case", async () => {
  for (
    const [name, refreshCookies] of [
      ["without the refresh cookie", () => []],
      ["with two refresh cookies", (own) => [own, "A".repeat(43)]],
      ["with another user's refresh cookie", () => ["A".repeat(43)]],
    ] satisfies [string, (own: string) => string[]][]
  ) {
    const rig = await createOidcRig();
    const browser = rig.browser();
    await browser.signIn();
    const session = browser.cookies.get("wv_session") ?? "";
    const own = browser.cookies.get("wv_refresh_ref") ?? "";
    const cookie = [
      `wv_session=${session}`,
      ...refreshCookies(own).map((one) => `wv_refresh_ref=${one}`),
    ].join("; ");
    const done = await rig.ask("/auth/logout", { headers: { cookie, "sec-fetch-site": "none" } });
    assert.equal(done.status, 303, name);
    const db = await rig.host.databases.open("/r/login.db");
    assert.deepEqual(db.prepare("select * from refreshes").all(), [], name);
  }
});

test(
  "a logout without a session ends every reference that the browser sends",
  async (rig, browser) => {
    const other = rig.browser();
    await other.signIn();
    const references = [browser, other].map((one) => one.cookies.get("wv_refresh_ref") ?? "");
    const cookie = references.map((one) => `wv_refresh_ref=${one}`).join("; ");
    await rig.ask("/auth/logout", { headers: { cookie, "sec-fetch-site": "none" } });
    const db = await rig.host.databases.open("/r/login.db");
    assert.deepEqual(db.prepare("select * from refreshes").all(), []);
  },
);

for (
  const [name, more] of [
    ["another subject", { sub: "eve-1" }],
    ["another address", { email: "eve@example.org" }],
    ["an address that is no longer verified", { email_verified: false }],
  ] as const
) {
  test(`a refresh that comes back with ${name} ends it`, async (rig, browser) => {
    rig.provider.lies.claims = (claims) => ({ ...claims, ...more });
    const answer = await browser.ask("/");
    assert.match(answer.headers.get("location") ?? "", /^\/auth\/login/);
    assert.deepEqual([...browser.cookies.keys()].filter((one) => one !== "wv_oidc_state"), []);
  });
}

test("a truncated, made-up or misused reference is invalid", async (rig, browser) => {
  const good = browser.cookies.get("wv_refresh_ref") ?? "";
  const session = browser.cookies.get("wv_session") ?? "";
  for (const bad of ["", "x", good.slice(0, -1), `${good}A`, "A".repeat(43), session]) {
    const other = rig.browser();
    other.cookies.set("wv_refresh_ref", bad);
    const answer = await other.ask("/");
    assert.match(answer.headers.get("location") ?? "", /^\/auth\/login/, bad);
    assert.equal(other.cookies.has("wv_session"), false, bad);
  }
  assert.equal(refreshes(rig), 1);
});

Deno.test("the store contains no references or provider tokens in plain text", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  await browser.signIn(ADA);
  const db = await rig.host.databases.open("/r/login.db");
  const text = JSON.stringify(db.prepare("select * from refreshes").all());
  assert.match(text, /ada@example.org/);
  assert.ok(!text.includes(browser.cookies.get("wv_refresh_ref") ?? "none"));
  assert.ok(!/refresh-\d/.test(text), text);
});

test("the end of all sessions also ends references of expired sessions", async (rig, thief) => {
  const owner = rig.browser();
  assert.equal((await owner.signIn()).status, 303);
  const done = await owner.ask("/auth/sessions", {
    method: "POST",
    headers: { origin: ORIGIN, "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ end: "all" }),
  });
  assert.equal(done.status, 303);
  assert.match(
    (await thief.ask("/x")).headers.get("location") ?? "",
    /^\/auth\/login/,
    "the other browser's session had run out before, its reference had not",
  );
  const db = await rig.host.databases.open("/r/login.db");
  assert.equal(db.prepare("select * from refreshes").all().length, 0);
});
