/**
 * The connector's token, one bad input a test: what is refused, with which status, and that nothing
 * of it reaches an agent or another host. The table of docs/teamchat.md is built from these cases.
 *
 * @module
 */

import assert from "node:assert/strict";
import { SignJWT } from "jose";
import { parseCloud } from "core/teamchat/cloud.ts";
import { createKeySet } from "teamchat/inbound/key_set.ts";
import { createMetrics } from "teamchat/metrics.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { fakeHttp } from "tests/fakes/http.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { type ConnectorKit, createConnectorKit } from "tests/teamchat/connector/kit.ts";
import { type PostOptions, startTestTeamchat, type TestTeamchat } from "tests/teamchat/fixture.ts";
import { APP_ID, type KitKeys, TENANT } from "tests/teamchat/connector/keys.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;
const MINUTE = 60;

/** What is posted: changes of the activity, of the token, or of the request. */
interface Given {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly activity?: Readonly<Record<string, unknown>>;
  /** The whole header. */
  readonly authorization?: (token: string) => string | null;
  readonly key?: (keys: KitKeys) => ReturnType<KitKeys["make"]>;
  readonly token?: (at: TestTeamchat) => Promise<string>;
  readonly post?: PostOptions;
}

interface Case {
  readonly name: string;
  readonly status: number;
  readonly given: Given;
}

const now = (at: TestTeamchat) => Math.floor(at.clock.now() / 1000);
const FOREIGN_TENANT = "12345678-1234-4234-8234-123456789012";
const offset = (seconds: number) => ({ at: seconds });

const REFUSED: readonly Case[] = [
  { name: "no header", status: 401, given: { authorization: () => null } },
  { name: "an empty header", status: 401, given: { authorization: () => "" } },
  { name: "Basic", status: 401, given: { authorization: () => "Basic YTpi" } },
  { name: "a bare token", status: 401, given: { authorization: (token) => token } },
  {
    name: "two tokens",
    status: 401,
    given: { authorization: (token) => `Bearer ${token}, Bearer ${token}` },
  },
  { name: "two spaces", status: 401, given: { authorization: (token) => `Bearer  ${token}` } },
  {
    name: "a token with four parts",
    status: 401,
    given: { authorization: (token) => `Bearer ${token}.x` },
  },
  {
    name: "a token of 20 KB",
    status: 401,
    given: { authorization: () => `Bearer ${"a".repeat(12_000)}` },
  },
  { name: "no JSON in the header", status: 401, given: { authorization: () => "Bearer eA.eA.eA" } },
  { name: "alg none", status: 401, given: { token: unsigned } },
  { name: "HS256 with the public key", status: 401, given: { token: symmetric } },
  {
    name: "another key under a known name",
    status: 401,
    given: { key: (keys) => keys.make("key-1", { isHidden: true }) },
  },
  {
    name: "an unknown key",
    status: 401,
    given: { key: (keys) => keys.make("key-9", { isHidden: true }) },
  },
  { name: "no key id", status: 401, given: { header: { kid: undefined } } },
  { name: "a key in the header (jwk)", status: 401, given: { header: { jwk: { kty: "RSA" } } } },
  {
    name: "a key address in the header (jku)",
    status: 401,
    given: { header: { jku: "http://127.0.0.1:9/k" } },
  },
  {
    name: "a certificate address in the header (x5u)",
    status: 401,
    given: { header: { x5u: "http://127.0.0.1:9/k" } },
  },
  { name: "a certificate in the header (x5c)", status: 401, given: { header: { x5c: ["AA"] } } },
  {
    name: "an unknown crit",
    status: 401,
    given: { token: (at) => signedBy(at, "SHA-256", { crit: ["x-odd"], "x-odd": 1 }) },
  },
  {
    name: "RS512 by the right key",
    status: 401,
    given: { token: (at) => signedBy(at, "SHA-512") },
  },
  { name: "PS256", status: 401, given: { token: (at) => named(at, "PS256") } },
  { name: "ES256", status: 401, given: { token: (at) => named(at, "ES256") } },
  {
    name: "an expired token, 6 minutes",
    status: 401,
    given: { claims: { exp: offset(-6 * MINUTE) } },
  },
  { name: "no exp", status: 401, given: { claims: { exp: undefined } } },
  { name: "exp as text", status: 401, given: { claims: { exp: "4102444800" } } },
  { name: "exp in ten years", status: 401, given: { claims: { exp: offset(10 * 365 * 86_400) } } },
  { name: "nbf in 6 minutes", status: 401, given: { claims: { nbf: offset(6 * MINUTE) } } },
  { name: "iat in 6 minutes", status: 401, given: { claims: { iat: offset(6 * MINUTE) } } },
  { name: "another audience", status: 401, given: { claims: { aud: "other" } } },
  { name: "no audience", status: 401, given: { claims: { aud: undefined } } },
  { name: "a list of audiences", status: 401, given: { claims: { aud: [APP_ID] } } },
  {
    name: "the connector as audience",
    status: 401,
    given: { claims: { aud: "https://api.botframework.com" } },
  },
  {
    name: "an alias that is not configured",
    status: 401,
    given: { claims: { aud: `api://botid-${APP_ID}` } },
  },
  { name: "another issuer", status: 401, given: { claims: { iss: "https://evil.test" } } },
  { name: "no issuer", status: 401, given: { claims: { iss: undefined } } },
  {
    name: "the issuer of another cloud",
    status: 401,
    given: { claims: { iss: "https://api.botframework.us" } },
  },
  {
    name: "the issuer with a slash",
    status: 401,
    given: { claims: { iss: "https://connector.test/" } },
  },
  {
    name: "a token of the own tenant",
    status: 401,
    given: { claims: { iss: `https://sts.windows.net/${TENANT}/` } },
  },
  {
    name: "a token of another tenant for this bot",
    status: 401,
    given: {
      claims: {
        ...{ iss: `https://sts.windows.net/${FOREIGN_TENANT}/`, tid: FOREIGN_TENANT, ver: "1.0" },
        appid: APP_ID,
      },
    },
  },
  {
    name: "a token of the second version of the own tenant",
    status: 401,
    given: {
      claims: {
        ...{ iss: `https://login.microsoftonline.com/${TENANT}/v2.0`, tid: TENANT, ver: "2.0" },
        azp: APP_ID,
      },
    },
  },
  {
    name: "a skill's token",
    status: 401,
    given: {
      claims: {
        ...{ iss: `https://sts.windows.net/${TENANT}/`, ver: "1.0", tid: TENANT },
        appid: FOREIGN_TENANT,
      },
    },
  },
  {
    name: "an emulator's token",
    status: 401,
    given: {
      claims: {
        iss: "https://sts.windows.net/d6d49420-f39b-4df7-a1dc-d59a935871db/",
        ver: "1.0",
        appid: APP_ID,
      },
    },
  },
  {
    name: "no service URL in the token",
    status: 403,
    given: { claims: { serviceurl: undefined } },
  },
  {
    name: "another host in the activity",
    status: 403,
    given: {
      claims: { serviceurl: "http://127.0.0.1:9/teams/" },
      activity: { serviceUrl: "https://evil.test/teams/" },
    },
  },
  {
    name: "another port in the activity",
    status: 403,
    given: {
      claims: { serviceurl: "http://127.0.0.1:9/teams/" },
      activity: { serviceUrl: "http://127.0.0.1:10/teams/" },
    },
  },
  {
    name: "another scheme in the activity",
    status: 403,
    given: {
      claims: { serviceurl: "http://127.0.0.1:9/teams/" },
      activity: { serviceUrl: "https://127.0.0.1:9/teams/" },
    },
  },
  {
    name: "another path in the activity",
    status: 403,
    given: {
      claims: { serviceurl: "http://127.0.0.1:9/teams/" },
      activity: { serviceUrl: "http://127.0.0.1:9/other/" },
    },
  },
  ...foreign("a foreign host in both", "https://evil.test/teams/"),
  ...foreign("a look-alike host", "https://smba.trafficmanager.net.evil.test/teams/"),
  ...foreign("a user name", "http://a@127.0.0.1:9/teams/"),
  ...foreign("a final dot", "http://127.0.0.1.:9/teams/"),
  ...foreign("a name in another script", "https://smbа.trafficmanager.net/teams/"),
  ...foreign("a look-alike name in punycode", "https://xn--smb-8cd.trafficmanager.net/teams/"),
  ...foreign("an address", "https://10.0.0.1/teams/"),
  ...foreign("an address of six", "https://[2001:db8::1]/teams/"),
  ...foreign("the platform's host without TLS", "http://smba.trafficmanager.net/teams/"),
  ...foreign("a query", "http://127.0.0.1:9/teams/?x=1"),
  ...foreign("dots in the path", "http://127.0.0.1:9/teams/../x/"),
  ...foreign("a backslash", "http://127.0.0.1:9\\@evil.test/"),
  {
    name: "a key that is endorsed for nothing",
    status: 403,
    given: { key: (keys) => keys.make("key-2", { endorsements: undefined }) },
  },
  {
    name: "a key that is endorsed for another channel",
    status: 403,
    given: { key: (keys) => keys.make("key-3", { endorsements: ["webchat"] }) },
  },
  {
    name: "another channel with a forged owner",
    status: 403,
    given: {
      key: (keys) => keys.make("key-4", { endorsements: ["webchat", "msteams"] }),
      activity: { channelId: "webchat" },
    },
  },
  { name: "channel emulator", status: 403, given: { activity: { channelId: "emulator" } } },
  { name: "no channel", status: 403, given: { activity: { channelId: undefined } } },
  {
    name: "another tenant",
    status: 403,
    given: {
      activity: {
        conversation: { id: "a:bea", conversationType: "personal", tenantId: "other" },
        channelData: {},
      },
    },
  },
  {
    name: "two tenants",
    status: 403,
    given: {
      activity: {
        conversation: { id: "a:bea", conversationType: "personal", tenantId: TENANT },
        channelData: { tenant: { id: "other" } },
      },
    },
  },
  {
    name: "no tenant",
    status: 403,
    given: {
      activity: { conversation: { id: "a:bea", conversationType: "personal" }, channelData: {} },
    },
  },
];

function foreign(name: string, serviceUrl: string): readonly Case[] {
  return [{
    name,
    status: 403,
    given: { claims: { serviceurl: serviceUrl }, activity: { serviceUrl } },
  }];
}

for (const { name, status, given } of REFUSED) {
  Deno.test({
    name: `a delivery is refused: ${name}`,
    ...SAFE,
    fn: async () => {
      await using at = await startTestTeamchat();
      const agent = await at.agent();
      const answer = await deliver(at, given);
      assert.equal(answer.status, status, answer.text);
      await at.clock.advance(2_000);
      assert.deepEqual(agent.frames.filter(({ type }) => type === "turn"), []);
      assert.equal(at.kit.calls.length, 0, "something was sent");
      assert.equal(at.kit.tokensMinted, 0, "a token was asked for");
      assert.deepEqual(at.kit.violations(), [], "another host was asked");
      const paths = at.kit.paths.filter((path) => path !== "metadata" && path !== "keys");
      assert.deepEqual(paths, [], "an address of the token was asked");
      assert.doesNotMatch(answer.text, /eyJ|issuer|audience|signature/);
    },
  });
}

const ACCEPTED: readonly Case[] = [
  { name: "a good token", status: 202, given: {} },
  {
    name: "the scheme in small letters",
    status: 202,
    given: { authorization: (token) => `bearer ${token}` },
  },
  {
    name: "an expired token, 4 minutes",
    status: 202,
    given: { claims: { exp: offset(-4 * MINUTE) } },
  },
  { name: "nbf in 4 minutes", status: 202, given: { claims: { nbf: offset(4 * MINUTE) } } },
  {
    name: "serviceUrl in mixed case",
    status: 202,
    given: { claims: { serviceurl: undefined, serviceUrl: "http://127.0.0.1:9/teams/" } },
  },
  {
    name: "a slash less",
    status: 202,
    given: { claims: { serviceurl: "http://127.0.0.1:9/teams" } },
  },
];
for (const { name, status, given } of ACCEPTED) {
  Deno.test({
    name: `a delivery is accepted: ${name}`,
    ...SAFE,
    fn: async () => {
      await using at = await startTestTeamchat();
      assert.equal((await deliver(at, given)).status, status);
    },
  });
}

async function deliver(at: TestTeamchat, given: Given) {
  const activity = at.message("hello", given.activity);
  const claims = Object.fromEntries(
    Object.entries(given.claims ?? {}).map(([name, value]) => [
      name,
      typeof value === "object" && value !== null && "at" in value
        ? now(at) + Number(value.at)
        : value,
    ]),
  );
  const key = await given.key?.(at.kit.keys);
  // Long enough for the gateway to look for a key that it does not know.
  if (key !== undefined) await at.clock.advance(31_000);
  const token = await given.token?.(at) ?? await at.kit.keys.token(at.kit.serviceUrl, {
    claims,
    ...(given.header === undefined ? {} : { header: given.header }),
    ...(key === undefined ? {} : { key }),
  });
  const authorization = given.authorization === undefined
    ? `Bearer ${token}`
    : given.authorization(token);
  return await at.post(activity, { authorization, ...given.post });
}

function encode(value: unknown): string {
  return new TextEncoder().encode(JSON.stringify(value)).toBase64({
    alphabet: "base64url",
    omitPadding: true,
  });
}

async function unsigned(at: TestTeamchat): Promise<string> {
  const good = await at.kit.keys.token(at.kit.serviceUrl);
  return `${encode({ alg: "none", kid: "key-1" })}.${good.split(".")[1]}.AA`;
}

async function symmetric(at: TestTeamchat): Promise<string> {
  const secret = new TextEncoder().encode(JSON.stringify(at.kit.keys.current.publicJwk));
  return await new SignJWT({ iss: "https://connector.test", aud: APP_ID, exp: now(at) + 60 })
    .setProtectedHeader({ alg: "HS256", kid: "key-1" }).sign(secret);
}

/** The right key, used with a hash of its family, and more in the header. */
async function signedBy(
  at: TestTeamchat,
  hash: "SHA-256" | "SHA-512",
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { privateKey, kid } = at.kit.keys.current;
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", privateKey);
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash };
  const key = await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, false, ["sign"]);
  const good = await at.kit.keys.token(at.kit.serviceUrl);
  const alg = hash === "SHA-256" ? "RS256" : "RS512";
  const text = `${encode({ alg, kid, typ: "JWT", ...more })}.${good.split(".")[1]}`;
  const signature = await crypto.subtle.sign(algorithm, key, new TextEncoder().encode(text));
  const options = { alphabet: "base64url", omitPadding: true } as const;
  return `${text}.${new Uint8Array(signature).toBase64(options)}`;
}

/** A good token that says that it was signed in another way. */
async function named(at: TestTeamchat, alg: string): Promise<string> {
  const [, claims, signature] = (await at.kit.keys.token(at.kit.serviceUrl)).split(".");
  return `${encode({ alg, kid: at.kit.keys.current.kid, typ: "JWT" })}.${claims}.${signature}`;
}

function test(name: string, fn: (at: TestTeamchat) => Promise<void>): void {
  Deno.test({
    name,
    ...SAFE,
    fn: async () => {
      await using at = await startTestTeamchat();
      await fn(at);
    },
  });
}

test("a token in the query counts for nothing", async (at) => {
  const token = await at.kit.keys.token(at.kit.serviceUrl);
  const response = await at.still(fetch(`${at.url}?access_token=${token}`, { method: "POST" }));
  await response.body?.cancel();
  assert.equal(response.status, 401);
});

test("a body that never comes holds nothing open without a token", async (at) => {
  const body = new ReadableStream({ start: () => {} });
  const response = await at.still(fetch(at.url, { method: "POST", body }));
  await response.text();
  assert.equal(response.status, 401);
});

Deno.test({
  name: "ten thousand unknown keys make one fetch in a while",
  ...SAFE,
  fn: async () => {
    const clock = fakeClock();
    const kit = await createConnectorKit({ now: () => clock.now() });
    const cloud = parseCloud(kit.cloudFile, "cloud.yaml");
    assert.ok(cloud.ok);
    const http = fakeHttp((request) => kit.handle(request));
    const keys = createKeySet({
      ...{ cloud: cloud.value, http, clock, log: recordingLog(), metrics: createMetrics() },
    });
    const fetches = () => kit.paths.filter((path) => path === "keys").length;
    assert.notEqual(await keys.find("key-1"), "unknown");
    for (let n = 0; n < 5_000; n++) assert.equal(await keys.find(`k${n}`), "unknown");
    assert.equal(fetches(), 1);
    await clock.advance(31_000);
    for (let n = 0; n < 5_000; n++) assert.equal(await keys.find(`l${n}`), "unknown");
    assert.equal(fetches(), 2);
  },
});

Deno.test({
  name: "without keys the answer is 503, and all is well once they are there",
  ...SAFE,
  fn: async () => {
    const wired: { kit?: ConnectorKit } = {};
    const host = memoryHost({
      http: (request) => wired.kit?.handle(request) ?? new Response(null, { status: 502 }),
    });
    const kit = wired.kit = await createConnectorKit({ now: () => host.clock.now() });
    kit.override("keys", () => Response.redirect("http://127.0.0.1:9/elsewhere"));
    await using at = await startTestTeamchat({ host, kit });
    const refused = await at.post(at.message("hello"));
    assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "5"]);
    kit.override("keys", undefined);
    await at.clock.advance(2_000);
    assert.equal((await at.post(at.message("hello"))).status, 202);
  },
});

Deno.test({
  name: "an audience that is configured is accepted, another alias of the same bot is not",
  ...SAFE,
  fn: async () => {
    const alias = `api://botid-${APP_ID}`;
    await using at = await startTestTeamchat({ env: { TEAMS_APP_ALIASES: alias } });
    assert.equal((await deliver(at, { claims: { aud: alias } })).status, 202);
    assert.equal((await deliver(at, { claims: { aud: `api://${APP_ID}` } })).status, 401);
    assert.equal((await deliver(at, {})).status, 202);
  },
});

test("a key set that hangs holds up nobody whose key is known", async (at) => {
  assert.equal((await at.post(at.message("before"))).status, 202);
  const held = Promise.withResolvers<Response>();
  at.kit.override("keys", () => held.promise);
  await at.clock.advance(60_000);
  const stray = await at.kit.keys.make("key-8", { isHidden: true });
  const token = await at.kit.keys.token(at.kit.serviceUrl, { key: stray });
  const waiting = at.post(at.message("x"), { authorization: `Bearer ${token}` });
  assert.equal((await at.post(at.message("meanwhile"))).status, 202);
  held.resolve(new Response("late", { status: 500 }));
  assert.equal((await waiting).status, 401);
});

for (
  const [name, respond] of Object.entries({
    "a redirect": () => Response.redirect("http://127.0.0.1:9/elsewhere"),
    "an error": () => new Response("no", { status: 500 }),
    "no JSON": () => new Response("<html>"),
    "ten megabytes": () => new Response("x".repeat(10_000_000)),
    "no keys": () => Response.json({ keys: [] }),
    "an elliptic key": () => Response.json({ keys: [{ kty: "EC", kid: "key-1", crv: "P-256" }] }),
    "two keys of one name": () =>
      Response.json({
        keys: [1, 2].map(() => ({ kty: "RSA", kid: "key-1", n: "AA".repeat(171), e: "AQAB" })),
      }),
  })
) {
  test(`good keys are kept when the key set is ${name}`, async (at) => {
    assert.equal((await at.post(at.message("before"))).status, 202);
    at.kit.override("keys", respond);
    await at.clock.advance(60_000);
    const stray = await at.kit.keys.make("key-8", { isHidden: true });
    const token = await at.kit.keys.token(at.kit.serviceUrl, { key: stray });
    const refused = await at.post(at.message("x"), { authorization: `Bearer ${token}` });
    assert.equal(refused.status, 401);
    assert.equal((await at.post(at.message("after"))).status, 202);
  });
}

test("a new key counts at once, an old one not after it is gone, remembered tokens included", async (at) => {
  const old = await at.kit.keys.token(at.kit.serviceUrl);
  const authorization = `Bearer ${old}`;
  for (const text of ["one", "and again", "and again"]) {
    assert.equal((await at.post(at.message(text), { authorization })).status, 202);
  }
  await at.kit.keys.rotate("key-2");
  await at.clock.advance(31_000);
  assert.equal((await at.post(at.message("two"))).status, 202);
  assert.equal((await at.post(at.message("three"), { authorization })).status, 401);
});

test("a token that only looks like one that was good is none, however often that came", async (at) => {
  const good = await at.kit.keys.token(at.kit.serviceUrl);
  const post = async (token: string, scheme = "Bearer") =>
    (await at.post(at.message("x"), { authorization: `${scheme} ${token}` })).status;
  for (let n = 0; n < 3; n++) assert.equal(await post(good), 202);
  const [header = "", claims = "", signature = ""] = good.split(".");
  const other = (text: string) => (text.startsWith("A") ? "B" : "A") + text.slice(1);
  assert.equal(await post([header, other(claims), signature].join(".")), 401);
  assert.equal(await post([header, claims, other(signature)].join(".")), 401);
  assert.equal(await post(`${good}A`), 401);
  assert.equal(await post(good.slice(-16)), 401);
  assert.equal(await post(good, "Basic"), 401);
  assert.equal(await post(good, "bearer"), 202);
  assert.equal(await post(good), 202);
});

test("more tokens than are at hand are all good, one after the other and again", async (at) => {
  const tokens = await Promise.all(
    Array.from(
      { length: 12 },
      (_, n) => at.kit.keys.token(at.kit.serviceUrl, { claims: { jti: String(n) } }),
    ),
  );
  for (const token of [...tokens, ...tokens, ...tokens]) {
    const answer = await at.post(at.message("x"), { authorization: `Bearer ${token}` });
    assert.equal(answer.status, 202);
  }
  const counted = (result: string) => at.teamchat.metrics.value("tokens", { result });
  assert.deepEqual([counted("fresh"), counted("cached")], [12, 24]);
});
