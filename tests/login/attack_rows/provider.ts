/**
 * Attacks on sign-in with an identity provider. Data only.
 *
 * @module
 */

import {
  CONFIG,
  LIES,
  PRINCIPAL,
  REFRESH,
  type Row,
  SIGN_IN,
} from "tests/login/attack_rows/row.ts";

/** E: what an identity provider, or an impostor, may send. */
export const PROVIDER_ROWS: readonly Row[] = [
  ["E46", "states that are absent, truncated, of another flow, used or old", [
    SIGN_IN,
    "no state",
    "half a state",
    "two states",
    "a callback is good once",
    "a failed sign-in cannot be used again",
    "a sign-in has ten minutes",
    "/auth/callback",
  ]],
  ["E47", "codes that are absent, repeated, of another flow or beside an error", [
    LIES,
    "no code",
    "another user's code",
    "an error and a code",
  ], [SIGN_IN, "two codes"]],
  ["E48", "a sign-in of the attacker in another's browser", [
    SIGN_IN,
    "for the browser that began it",
    "a callback that is not a user's navigation",
    "with the prefix every cookie has it",
  ]],
  ["E49", "an issuer that is absent, wrong or almost right", [
    LIES,
    "no issuer though it promises one",
    "its issuer with a slash",
    "another issuer (rp-id_token-issuer-mismatch)",
  ]],
  ["E50", "algorithms and headers of an ID token", [
    LIES,
    "alg none (rp-id_token-sig-none)",
    "alg nOnE",
    "HS256 with the client's secret",
    "an unknown critical header",
    "a payload that is not encoded (b64)",
    "its own key in the header",
    "five parts, as an encrypted token has",
  ]],
  ["E51", "keys that are unknown, unusable or have a path as their id", [
    LIES,
    "an unknown kid",
    "a kid that is a query",
    "no kid and two keys",
    "a key for another use",
    "a key for another algorithm",
    "a key off its curve",
    "an RSA key of 512 bits",
  ]],
  ["E52", "keys that rotate, flood, redirect or are invalid", [
    LIES,
    "new keys are fetched once when one is unknown",
    "keys of 10 MB",
    "keys by redirect",
    "keys that are not JSON",
    "keys at an http address",
  ]],
  ["E53", "audiences and azp", [
    LIES,
    "another audience (rp-id_token-aud)",
    "an audience list without this client",
    "an audience list with this client and another azp",
    "another azp",
  ]],
  ["E54", "times of an ID token", [
    LIES,
    "an expiry in the past",
    "an expiry beyond the last date",
    "an expiry that is a text",
    "no expiry",
    "no time of issue (rp-id_token-iat)",
    "a time of issue in the future",
    "a start in the future",
  ]],
  ["E55", "nonce and at_hash", [
    LIES,
    "no nonce (rp-nonce-invalid)",
    "another nonce",
    "another access token",
    "a code with another flow's verifier",
  ]],
  ["E56", "subjects, in the token and in user info", [
    LIES,
    "no subject (rp-id_token-sub)",
    "a subject of 300 bytes",
    "rp-userinfo-bad-sub-claim",
    "user info that is a list",
    "user info as an unsigned JWT",
  ]],
  ["E57", "addresses that are unverified or unusual", [
    PRINCIPAL,
    "not verified, as a text",
    "two at signs",
    "a comment",
    "a dotless i",
    "a Kelvin sign",
    "punycode",
  ]],
  ["E58", "an address that was given to another person", [
    PRINCIPAL,
    "an address belongs to the identity that first logged in with it",
  ]],
  ["E59", "a name that looks like a victim's address", [
    PRINCIPAL,
    "a public provider, a name that looks like an address",
  ]],
  // A provider that ignores the verifier cannot be detected without a login. The nonce still
  // protects.
  ["E60", "a provider without PKCE, or one that ignores it", [
    LIES,
    "no PKCE",
    "a code with another flow's verifier",
  ], [SIGN_IN, "no two sign-ins share a state, a nonce or a verifier"]],
  ["E61", "many sign-ins at once", [SIGN_IN, "two hundred parallel sign-ins never cross"]],
  ["E62", "many tabs at once", [SIGN_IN, "ten tabs sign in at once under one cookie"]],
  ["E63", "invalid answers of the token endpoint", [
    LIES,
    "tokens by redirect",
    "tokens as a page",
    "tokens of 10 MB",
    "whose token answer never ends",
    "an error with a script in it",
  ]],
  ["E64", "metadata of another issuer, over http or redirected", [
    LIES,
    "metadata of another issuer",
    "metadata by redirect",
    "an http authorization endpoint",
  ], [CONFIG, "an http issuer"]],
  ["E66", "refresh references that are reused, or used after their end", [
    REFRESH,
    "a reused reference counts as copied",
    "tabs that refresh at the same time share one refresh",
    "a refresh under way opens nothing after",
    "a provider that refuses a refresh ends the session",
    "a refresh that comes back with",
  ]],
];
