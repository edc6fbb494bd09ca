/**
 * A provider that lies: every lie gets the same neutral page, which shows nothing of it. No one is
 * logged in and the cockpit sees nothing. Names in brackets come from the OpenID conformance suite.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type Lies, reheaded } from "tests/support/hostile_provider.ts";
import { ADA, createOidcRig } from "tests/support/oidc_fixture.ts";

const day = 86_400;

/** Name, lie, and the expected log message. */
const ROWS: readonly (readonly [string, Lies, RegExp?])[] = [
  ["another issuer (rp-id_token-issuer-mismatch)", claims({ iss: "https://evil.example" })],
  ["its issuer with a slash", claims({ iss: "https://idp.example/" })],
  ["no subject (rp-id_token-sub)", claims({ sub: undefined })],
  ["an empty subject", claims({ sub: "" })],
  ["a subject of 300 bytes", claims({ sub: "x".repeat(300) })],
  ["a subject with a line break", claims({ sub: "a\nb" })],
  ["another audience (rp-id_token-aud)", claims({ aud: "other" })],
  ["an audience list without this client", claims({ aud: ["a", "b"] })],
  [
    "an audience list with this client and another azp",
    claims({ aud: ["cockpit", "b"], azp: "b" }),
  ],
  ["an audience list with this client and no azp", claims({ aud: ["cockpit", "b"] })],
  ["another azp", claims({ azp: "other" })],
  ["no time of issue (rp-id_token-iat)", claims({ iat: undefined })],
  ["a time of issue in the future", claims({ iat: Math.floor(Date.now() / 1000) + day })],
  ["an expiry in the past", claims({ exp: Math.floor(Date.now() / 1000) - day })],
  ["an expiry beyond the last date", claims({ exp: 1e300 })],
  ["an expiry that is a text", claims({ exp: "9999999999" })],
  ["no expiry", claims({ exp: undefined })],
  ["a start in the future", claims({ nbf: Math.floor(Date.now() / 1000) + day })],
  ["no nonce (rp-nonce-invalid)", claims({ nonce: undefined })],
  ["another nonce", claims({ nonce: "other" })],
  ["another access token", claims({ at_hash: "AAAAAAAAAAAAAAAAAAAAAA" })],
  ["alg none (rp-id_token-sig-none)", { token: (token) => reheaded(token, { alg: "none" }) }],
  ["alg nOnE", { token: (token) => reheaded(token, { alg: "nOnE" }) }],
  ["alg HS256", { token: (token) => reheaded(token, { alg: "HS256" }) }],
  [
    "alg none in its metadata too",
    {
      token: (token) => reheaded(token, { alg: "none" }),
      metadata: (all) => ({ ...all, id_token_signing_alg_values_supported: ["none", "HS256"] }),
    },
  ],
  [
    "HS256 with the client's secret",
    {
      token: (token) => signedWithSecret(token),
      metadata: (all) => ({ ...all, id_token_signing_alg_values_supported: ["HS256"] }),
    },
  ],
  ["a broken signature (rp-id_token-bad-sig)", { token: (token) => flipped(token) }],
  ["no signature", { token: (token) => token.replace(/\.[^.]*$/, ".") }],
  ["five parts, as an encrypted token has", { token: (token) => `${token}.x.y` }],
  ["a payload that is not encoded (b64)", {
    token: (token) => reheaded(token, { alg: "ES256", kid: "first", b64: false, crit: ["b64"] }),
  }],
  ["a fourth part", { token: (token) => `${token}.x` }],
  ["an unknown critical header", { header: (all) => ({ ...all, crit: ["x"], x: 1 }) }],
  ["its own key in the header", { token: (token) => selfSigned(token) }],
  ["an unknown kid", { header: (all) => ({ ...all, kid: "../../etc/passwd" }) }],
  [
    "no kid and two keys (rp-id_token-kid-absent-multiple-jwks)",
    {
      header: (all) => ({ ...all, kid: undefined }),
      keys: (keys) => [...keys, { ...keys[0]!, kid: "second" }],
    },
  ],
  ["a key for another use", { keys: (keys) => keys.map((key) => ({ ...key, use: "enc" })) }],
  ["a key for another algorithm", {
    keys: (keys) => keys.map((key) => ({ ...key, alg: "RS256" })),
  }],
  ["an RSA key of 512 bits", {
    header: (all) => ({ ...all, alg: "RS256" }),
    keys: () => [{ kty: "RSA", kid: "first", alg: "RS256", e: "AQAB", n: "A".repeat(86) }],
  }],
  ["a kid that is a query", { header: (all) => ({ ...all, kid: "' OR 1=1 --" }) }],
  ["no keys", { keys: () => [] }],
  ["a key off its curve", { keys: (keys) => keys.map((key) => ({ ...key, x: "AA", y: "AA" })) }],
  ["keys that are not keys", { keys: () => [{ kty: "EC" }, {}, { kty: 1 as unknown as string }] }],
  ["no ID token", { tokens: ({ id_token: _, ...rest }) => rest }],
  ["no access token", { tokens: ({ access_token: _, ...rest }) => rest }],
  ["an ID token that is a list", { tokens: (all) => ({ ...all, id_token: ["x"] }) }],
  ["user info of another user (rp-userinfo-bad-sub-claim)", {
    claims: ({ email: _, ...rest }) => rest,
    userInfo: { sub: "other", email: "eve@example.org" },
  }],
  ["user info that is a list", {
    claims: ({ email: _, ...rest }) => rest,
    userInfo: {},
    answer: { "/userinfo": () => Response.json([{ sub: "ada-1" }]) },
  }],
  ["user info as an unsigned JWT", {
    claims: ({ email: _, ...rest }) => rest,
    userInfo: {},
    answer: {
      "/userinfo": () =>
        new Response("eyJhbGciOiJub25lIn0.e30.", {
          headers: { "content-type": "application/jwt" },
        }),
    },
  }],
];

function claims(more: Record<string, unknown>): Lies {
  return { claims: (honest) => ({ ...honest, ...more }) };
}

async function signedWithSecret(token: string): Promise<string> {
  const { SignJWT, decodeJwt } = await import("jose");
  const secret = new TextEncoder().encode("a-client-secret-of-the-tests");
  return await new SignJWT(decodeJwt(token)).setProtectedHeader({ alg: "HS256" }).sign(secret);
}

/** Signs with a new key and puts that key into the header. */
async function selfSigned(token: string): Promise<string> {
  const { SignJWT, decodeJwt, exportJWK, generateKeyPair } = await import("jose");
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk = await exportJWK(publicKey);
  return await new SignJWT(decodeJwt(token))
    .setProtectedHeader({ alg: "ES256", kid: "first", jwk, jku: "https://evil.example/keys" })
    .sign(privateKey);
}

function flipped(token: string): string {
  const at = token.lastIndexOf(".") + 5;
  return token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
}

for (const [name, lies] of ROWS) {
  Deno.test(`a provider that answers ${name} opens no session`, async () => {
    const rig = await createOidcRig({ lies });
    const browser = rig.browser();
    const answer = await browser.signIn();
    const text = await answer.text();
    assert.equal(answer.status, 403, text);
    assert.match(text, /your account was not accepted/);
    assert.ok(!text.includes("script"), "nothing that the provider says is shown");
    assert.equal(browser.cookies.has("wv_session"), false);
    assert.equal(browser.cookies.has("wv_refresh_ref"), false);
    assert.deepEqual([rig.seen, rig.store.list(), rig.store.pins.list()], [[], [], []]);
  });
}

/** Answers that prove nothing: 503 if they are not an answer of an OpenID provider, else 403. */
const AWAY: readonly (readonly [string, Lies, number])[] = [
  [
    "metadata of another issuer",
    { metadata: (all) => ({ ...all, issuer: "https://e.example" }) },
    403,
  ],
  ["metadata by redirect", answer("/.well-known/openid-configuration", redirected), 503],
  ["metadata that are not JSON", answer("/.well-known/openid-configuration", page), 503],
  ["metadata of 10 MB", answer("/.well-known/openid-configuration", huge), 503],
  [
    "no PKCE",
    { metadata: (all) => ({ ...all, code_challenge_methods_supported: ["plain"] }) },
    403,
  ],
  ["an http authorization endpoint", {
    metadata: (all) => ({ ...all, authorization_endpoint: "http://idp.example/authorize" }),
  }, 403],
  ["tokens by redirect", answer("/token", redirected), 503],
  ["tokens as a page", answer("/token", page), 503],
  ["tokens of 10 MB", answer("/token", huge), 503],
  [
    "an error with a script in it",
    answer(
      "/token",
      () => Response.json({ error: "<script>", error_description: "<script>" }, { status: 400 }),
    ),
    403,
  ],
  ["keys by redirect", answer("/keys", redirected), 503],
  ["keys of 10 MB", answer("/keys", huge), 503],
  ["keys that are not JSON", answer("/keys", page), 503],
  ["keys at an http address", {
    metadata: (all) => ({ ...all, jwks_uri: "http://169.254.169.254/keys" }),
  }, 403],
  [
    "nothing at all",
    answer("/token", () => Promise.reject(new TypeError("connection reset"))),
    503,
  ],
];

function answer(path: string, how: () => Response | Promise<Response>): Lies {
  return { answer: { [path]: how } };
}

function redirected(): Response {
  return new Response(null, { status: 302, headers: { location: "http://169.254.169.254/" } });
}

function page(): Response {
  return new Response("<script>alert(1)</script>", { headers: { "content-type": "text/html" } });
}

function huge(): Response {
  return Response.json({ keys: [], issuer: "x".repeat(10_000_000) });
}

for (const [name, lies, status] of AWAY) {
  Deno.test(`a provider that answers ${name} opens no session, its text is hidden`, async () => {
    const rig = await createOidcRig({ lies });
    const browser = rig.browser();
    const begun = await browser.ask("/auth/login");
    const location = begun.headers.get("location");
    const back = location === null ? undefined : rig.provider.signIn(location, ADA);
    const done = back === undefined ? begun : await browser.ask(back.pathname + back.search);
    const text = await done.text();
    assert.equal(done.status, status, text);
    assert.ok(!text.includes("script") && !text.includes("169.254"));
    assert.equal(browser.cookies.has("wv_session"), false);
    assert.deepEqual([rig.seen, rig.store.list()], [[], []]);
    assert.ok(!rig.provider.requests.includes("GET /"), "no redirect is followed");
  });
}

Deno.test("a provider whose token answer never ends opens no session", async () => {
  const begun = Promise.withResolvers<void>();
  const endless = () => {
    begun.resolve();
    return new Response(
      new ReadableStream<Uint8Array<ArrayBuffer>>({
        // The JSON is complete; only the missing end of the body makes the answer invalid.
        start: (controller) => controller.enqueue(new TextEncoder().encode("{}")),
      }),
      { headers: { "content-type": "application/json" } },
    );
  };
  const rig = await createOidcRig({ lies: answer("/token", endless) });
  const browser = rig.browser();
  const back = rig.provider.signIn(await browser.begin(), ADA);
  const asked = browser.ask(back.pathname + back.search);
  await begun.promise;
  await rig.host.clock.advance(10_000);
  assert.equal((await asked).status, 503);
  assert.deepEqual([browser.cookies.has("wv_session"), rig.seen], [false, []]);
});

const BACK: readonly (readonly [string, (back: URL) => void])[] = [
  ["no issuer though it promises one", (back) => back.searchParams.delete("iss")],
  ["another issuer", (back) => back.searchParams.set("iss", "https://evil.example")],
  ["its issuer with a slash", (back) => back.searchParams.set("iss", "https://idp.example/")],
  ["an error and a code", (back) => back.searchParams.set("error", "access_denied")],
  ["no code", (back) => back.searchParams.delete("code")],
  ["another user's code", (back) => back.searchParams.set("code", "code-of-eve")],
  ["an ID token beside the code", (back) => back.searchParams.set("id_token", "x")],
];
for (const [name, spoil] of BACK) {
  Deno.test(`a callback with ${name} opens no session`, async () => {
    const rig = await createOidcRig();
    const browser = rig.browser();
    const back = rig.provider.signIn(await browser.begin(), ADA);
    spoil(back);
    assert.equal((await browser.ask(back.pathname + back.search)).status, 403);
    assert.deepEqual([browser.cookies.has("wv_session"), rig.seen.length], [false, 0]);
  });
}

Deno.test("a code with another flow's verifier opens no session", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  const [one, two] = [await browser.begin("/one"), await browser.begin("/two")];
  const first = rig.provider.signIn(one, ADA);
  const second = rig.provider.signIn(two, ADA);
  // The code of one flow with the state of the other: PKCE detects the mix-up.
  first.searchParams.set("state", second.searchParams.get("state") ?? "");
  assert.equal((await browser.ask(first.pathname + first.search)).status, 403);
  // If the provider does not check PKCE, the nonce detects it.
  const third = rig.provider.signIn(await browser.begin("/three"), ADA);
  const fourth = rig.provider.signIn(await browser.begin("/four"), ADA);
  third.searchParams.set("state", fourth.searchParams.get("state") ?? "");
  rig.provider.lies.ignoresVerifier = true;
  assert.equal((await browser.ask(third.pathname + third.search)).status, 403);
});

Deno.test("new keys are fetched once when one is unknown, not for each stranger", async () => {
  const rig = await createOidcRig();
  assert.equal((await rig.browser().signIn()).status, 303);
  const fetched = () => rig.provider.requests.filter((one) => one === "GET /keys").length;
  assert.equal(fetched(), 1);
  await rig.provider.rotate();
  assert.equal((await rig.browser().signIn()).status, 303, "rotated between two logins");
  assert.equal(fetched(), 2);
  rig.provider.lies.header = (all) => ({ ...all, kid: "nobody's" });
  for (let count = 0; count < 5; count++) {
    assert.equal((await rig.browser().signIn()).status, 403);
  }
  assert.equal(fetched(), 2, "throttled");
  delete rig.provider.lies.header;
  assert.equal((await rig.browser().signIn()).status, 303, "the loaded keys are kept");
});

Deno.test("one key may lack a kid (rp-id_token-kid-absent-single-jwks)", async () => {
  const rig = await createOidcRig({ lies: { header: (all) => ({ ...all, kid: undefined }) } });
  assert.equal((await rig.browser().signIn()).status, 303);
});

Deno.test("the address is read from user info (rp-scope-userinfo-claims)", async () => {
  const rig = await createOidcRig({
    lies: {
      claims: ({ email: _, email_verified: __, ...rest }) => rest,
      userInfo: { sub: "ada-1", email: "Ada@Example.org", email_verified: true },
    },
  });
  const browser = rig.browser();
  assert.equal((await browser.signIn()).status, 303);
  await browser.ask("/x");
  assert.equal(rig.seen.at(-1)?.asserted, "ada@example.org");
});

for (
  const [name, token, info, status] of [
    [
      "an address of user info that the ID token calls verified",
      { email_verified: true },
      { email: "ada@example.org" },
      403,
    ],
    [
      "an address of user info that the ID token calls unverified",
      { email_verified: false },
      { email: "ada@example.org", email_verified: true },
      403,
    ],
    [
      "an address of user info that user info calls verified",
      {},
      { email: "ada@example.org", email_verified: true },
      303,
    ],
  ] as const
) {
  Deno.test(`a provider for all, with ${name}, ${status === 303 ? "works" : "fails"}`, async () => {
    const rig = await createOidcRig({
      env: { WEBVIEW_OIDC_TENANTS: "other.example" },
      lies: {
        claims: ({ email: _, email_verified: __, ...rest }) => ({ ...rest, ...token }),
        userInfo: { sub: "ada-1", ...info },
      },
    });
    assert.equal((await rig.browser().signIn()).status, status);
  });
}
