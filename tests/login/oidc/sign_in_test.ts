/**
 * Signing in with an honest OpenID provider: from the first page to the cockpit, in many tabs and
 * for many people at once. Also how used, stolen and stale sign-ins are handled.
 *
 * @module
 */

import assert from "node:assert/strict";
import { ISSUER } from "tests/support/hostile_provider.ts";
import { ADA, createOidcRig } from "tests/support/oidc_fixture.ts";

function test(name: string, run: () => Promise<void>): void {
  Deno.test({ name, sanitizeOps: true, sanitizeResources: true, fn: run });
}

test("a person is led to the provider, and back to where they wanted", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  const address = new URL(await browser.begin("/agents/ada?tab=1"));
  assert.equal(address.origin + address.pathname, `${ISSUER}/authorize`);
  const of = (name: string) => address.searchParams.get(name);
  assert.equal(of("response_type"), "code");
  assert.equal(of("scope"), "openid email profile");
  assert.equal(of("code_challenge_method"), "S256");
  assert.match(of("code_challenge") ?? "", /^[A-Za-z0-9_-]{43}$/);
  assert.equal(of("redirect_uri"), "http://localhost:8736/auth/callback");
  assert.ok((of("state") ?? "").length >= 43 && (of("nonce") ?? "").length >= 43);
  const back = rig.provider.signIn(address.href, ADA);
  const done = await browser.ask(back.pathname + back.search);
  assert.deepEqual([done.status, done.headers.get("location")], [303, "/agents/ada?tab=1"]);
  const page = await browser.ask("/agents/ada?tab=1");
  assert.equal(page.status, 200);
  assert.equal(rig.seen.at(-1)?.asserted, "ada@example.org");
  assert.equal(rig.seen.at(-1)?.headers.get("cookie"), null, "no cookie of the proxy is forwarded");
});

test("the cookies of a sign-in have exactly the documented attributes", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  const begun = await browser.ask("/auth/login");
  const [state = ""] = begun.headers.getSetCookie();
  assert.match(
    state,
    /^wv_oidc_state=[^;]+; Path=\/; Max-Age=600; HttpOnly; Secure; SameSite=Lax$/,
  );
  const back = rig.provider.signIn(begun.headers.get("location") ?? "", ADA);
  const lines = (await browser.ask(back.pathname + back.search)).headers.getSetCookie();
  const refresh = lines.find((line) => line.startsWith("wv_refresh_ref=")) ?? "";
  assert.match(
    refresh,
    /^wv_refresh_ref=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=7776000; HttpOnly; Secure; SameSite=Lax$/,
  );
  assert.ok(lines.every((line) => !line.includes("refresh-")), "the provider's token stays here");
});

test("with the prefix every cookie has it, and no other spelling counts", async () => {
  const rig = await createOidcRig({ env: { WEBVIEW_COOKIE_PREFIX: "__Host-" } });
  const browser = rig.browser();
  assert.equal((await browser.signIn()).status, 303);
  assert.deepEqual(
    [...browser.cookies.keys()].sort(),
    ["__Host-wv_oidc_state", "__Host-wv_refresh_ref", "__Host-wv_session"],
  );
  assert.equal((await browser.ask("/x")).status, 200);
  assert.equal(rig.seen.at(-1)?.headers.get("cookie"), null);
  const session = browser.cookies.get("__Host-wv_session");
  const plain = await rig.ask("/api/x", { headers: { cookie: `wv_session=${session}` } });
  assert.equal(plain.status, 401);
});

test("a program gets 401, and is never redirected to the provider", async () => {
  const rig = await createOidcRig();
  for (const path of ["/api/agents", "/events", "/auth/login"]) {
    const answer = await rig.ask(path, { headers: { accept: "text/event-stream" } });
    assert.equal(answer.status, 401, path);
    assert.match(answer.headers.get("www-authenticate") ?? "", /^Session /, path);
  }
  const basic = await rig.ask("/api/agents", { headers: { authorization: "Basic YTpi" } });
  assert.equal(basic.status, 401, "there are no passwords here");
  assert.deepEqual([rig.provider.requests, rig.seen], [[], []]);
});

test("ten tabs sign in at once under one cookie, eight of them come back", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  const addresses = [];
  for (let tab = 0; tab < 10; tab++) addresses.push(await browser.begin(`/tab/${tab}`));
  assert.deepEqual([...browser.cookies.keys()], ["wv_oidc_state"]);
  const places = [];
  for (const address of addresses) {
    const back = rig.provider.signIn(address, ADA);
    const done = await browser.ask(back.pathname + back.search);
    places.push(done.status === 303 ? done.headers.get("location") : done.status);
  }
  const wanted = Array.from({ length: 8 }, (_, index) => `/tab/${index + 2}`);
  assert.deepEqual(places, [400, 400, ...wanted]);
});

test("no two sign-ins share a state, a nonce or a verifier", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  const sent = { state: new Set(), nonce: new Set(), code_challenge: new Set() };
  for (let flow = 0; flow < 50; flow++) {
    const address = new URL(await (flow % 2 === 0 ? browser : rig.browser()).begin());
    for (const [name, values] of Object.entries(sent)) values.add(address.searchParams.get(name));
  }
  assert.deepEqual(Object.values(sent).map(({ size }) => size), [50, 50, 50]);
});

test("two hundred parallel sign-ins never cross", async () => {
  const rig = await createOidcRig();
  await Promise.all(Array.from({ length: 200 }, async (_, index) => {
    const browser = rig.browser();
    const email = `person-${index}@example.org`;
    const done = await browser.signIn({ sub: `sub-${index}`, email, email_verified: true });
    assert.equal(done.status, 303);
    await browser.ask(`/own/${index}`);
    const seen = rig.seen.find(({ path }) => path === `/own/${index}`);
    assert.equal(seen?.asserted, email);
  }));
});

/** The fault of a callback, and the function that causes it. */
const STALE: readonly (readonly [string, (back: URL) => void])[] = [
  ["no state", (back) => back.searchParams.delete("state")],
  ["an empty state", (back) => back.searchParams.set("state", "")],
  ["half a state", (back) => back.searchParams.set("state", "abc")],
  ["two states", (back) => back.searchParams.append("state", "x")],
  ["two codes", (back) => back.searchParams.append("code", "x")],
  ["two issuers", (back) => back.searchParams.append("iss", ISSUER)],
  ["a state that is too long", (back) => back.searchParams.set("state", "x".repeat(9_000))],
];
for (const [name, spoil] of STALE) {
  test(`a callback with ${name} opens nothing`, async () => {
    const rig = await createOidcRig();
    const browser = rig.browser();
    const back = rig.provider.signIn(await browser.begin(), ADA);
    spoil(back);
    const answer = await browser.ask(back.pathname + back.search);
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /please try again/);
    assert.deepEqual([browser.cookies.has("wv_session"), rig.seen.length], [false, 0]);
    assert.ok(!rig.provider.requests.includes("POST /token"), "no code was redeemed");
  });
}

test("a callback is good once, and for the browser that began it", async () => {
  const rig = await createOidcRig();
  const [mine, other] = [rig.browser(), rig.browser()];
  const back = rig.provider.signIn(await mine.begin(), ADA);
  await other.begin();
  const path = back.pathname + back.search;
  assert.equal((await other.ask(path)).status, 400, "another browser's");
  assert.equal((await rig.ask(path, { headers: { accept: "text/html" } })).status, 400);
  assert.equal((await mine.ask(path)).status, 303, "a stranger's try has spoiled nothing");
  assert.equal((await mine.ask(path)).status, 400, "used up");
  assert.equal(rig.provider.requests.filter((one) => one === "POST /token").length, 1);
});

test("a failed sign-in cannot be used again", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  const back = rig.provider.signIn(await browser.begin(), ADA);
  rig.provider.lies.claims = (claims) => ({ ...claims, nonce: "other" });
  assert.equal((await browser.ask(back.pathname + back.search)).status, 403);
  delete rig.provider.lies.claims;
  assert.equal((await browser.ask(back.pathname + back.search)).status, 400);
});

test("a sign-in has ten minutes", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  const back = rig.provider.signIn(await browser.begin(), ADA);
  await rig.host.clock.advance(600_000);
  assert.equal((await browser.ask(back.pathname + back.search)).status, 400);
});

test("a sign-in has ten minutes, also where another tab has renewed the cookie", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  const back = rig.provider.signIn(await browser.begin(), ADA);
  await rig.host.clock.advance(540_000);
  const fresh = rig.provider.signIn(await browser.begin(), ADA);
  await rig.host.clock.advance(120_000);
  assert.equal((await browser.ask(back.pathname + back.search)).status, 400);
  assert.equal((await browser.ask(fresh.pathname + fresh.search)).status, 303);
});

test("a callback that is not a user's navigation opens no session", async () => {
  const rig = await createOidcRig();
  for (
    const headers of [
      { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
      { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
      { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
    ]
  ) {
    const browser = rig.browser();
    const back = rig.provider.signIn(await browser.begin(), ADA);
    const answer = await browser.ask(back.pathname + back.search, { headers });
    assert.equal(answer.status, 400);
  }
  const posted = await rig.ask("/auth/callback", { method: "POST", body: "code=x" });
  assert.equal(posted.status, 405);
});

test("a login ends the session that the browser had before", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  await browser.signIn();
  const before = browser.cookies.get("wv_session");
  const address = await (async () => {
    browser.cookies.delete("wv_session");
    browser.cookies.delete("wv_refresh_ref");
    return await browser.begin();
  })();
  browser.cookies.set("wv_session", before ?? "");
  const back = rig.provider.signIn(address, ADA);
  await browser.ask(back.pathname + back.search);
  assert.notEqual(browser.cookies.get("wv_session"), before);
  const old = await rig.ask("/api/x", { headers: { cookie: `wv_session=${before}` } });
  assert.equal(old.status, 401);
});

test("a logout ends session and refresh, and does not lead straight back in", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  await browser.signIn();
  const reference = browser.cookies.get("wv_refresh_ref") ?? "";
  const out = await browser.ask("/auth/logout");
  assert.deepEqual([out.status, out.headers.get("location")], [303, "/auth/login?out=1"]);
  assert.deepEqual([...browser.cookies.keys()], []);
  const page = await browser.ask("/auth/login?out=1");
  assert.equal(page.status, 200);
  assert.match(await page.text(), /You are logged out/);
  const copied = rig.browser();
  copied.cookies.set("wv_refresh_ref", reference);
  const again = await copied.ask("/");
  assert.match(again.headers.get("location") ?? "", /^\/auth\/login/);
  assert.equal(copied.cookies.has("wv_session"), false);
});

test("pending sign-ins are bounded, and one client's flood ends no other client's", async () => {
  const rig = await createOidcRig();
  const mine = rig.browser();
  const back = rig.provider.signIn(await mine.begin(), ADA);
  for (let count = 0; count < 400; count++) {
    await rig.ask("/auth/login", {
      headers: { accept: "text/html", "sec-fetch-mode": "navigate" },
      peer: "10.9.9.9:1",
    });
  }
  assert.equal((await mine.ask(back.pathname + back.search)).status, 303);
  const { driver } = rig.deps;
  assert.ok(driver.kind === "oidc" && driver.flows.size() <= 256);
});
