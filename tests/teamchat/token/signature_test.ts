/**
 * The header that carries a delivery's token, and the token's signature: one bad header, algorithm
 * or key per test.
 *
 * @module
 */

import assert from "node:assert/strict";
import { SignJWT } from "jose";
import { teamchatTest as test, type TestTeamchat } from "tests/teamchat/fixture.ts";
import { APP_ID } from "tests/teamchat/connector/keys.ts";
import { accepted, type Case, now, refused } from "tests/teamchat/token/cases.ts";

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
    name: "a token of 12 KB",
    status: 401,
    given: { authorization: () => `Bearer ${"a".repeat(12_000)}` },
  },
  { name: "no JSON in the header", status: 401, given: { authorization: () => "Bearer eA.eA.eA" } },
  { name: "alg none", status: 401, given: { token: unsigned } },
  { name: "HS256 with the public key", status: 401, given: { token: symmetric } },
  {
    name: "another key with a known key id",
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
];

refused(REFUSED);

const ACCEPTED: readonly Case[] = [
  { name: "a good token", status: 202, given: {} },
  {
    name: "the scheme in small letters",
    status: 202,
    given: { authorization: (token) => `bearer ${token}` },
  },
];

accepted(ACCEPTED);

test("a token in the query string is ignored", async (at) => {
  const token = await at.kit.keys.token(at.kit.serviceUrl);
  const response = await at.withoutClock(
    fetch(`${at.url}?access_token=${token}`, { method: "POST" }),
  );
  await response.body?.cancel();
  assert.equal(response.status, 401);
});

test("without a token a missing body keeps no connection open", async (at) => {
  const body = new ReadableStream({ start: () => {} });
  const response = await at.withoutClock(fetch(at.url, { method: "POST", body }));
  await response.text();
  assert.equal(response.status, 401);
});

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

/** Returns a token that the right key signed with the given hash, with more header fields. */
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

/** Returns a good token whose header names another algorithm. */
async function named(at: TestTeamchat, alg: string): Promise<string> {
  const [, claims, signature] = (await at.kit.keys.token(at.kit.serviceUrl)).split(".");
  return `${encode({ alg, kid: at.kit.keys.current.kid, typ: "JWT" })}.${claims}.${signature}`;
}
