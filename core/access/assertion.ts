/**
 * The short-lived token with which the login proxy proves a caller's identity to the cockpit: a JWT
 * with HS256 over audience, subject, method, path, expiry and key id. Without it any local process
 * could claim any identity. No I/O, no clock: `nowMs` is passed in.
 * Why: ADR 0008.
 *
 * @module
 */

import { jwtVerify, SignJWT } from "jose";
import { err, ok, type Result } from "core/result.ts";
import { deriveKeyBytes, parseKeyRing } from "core/crypto/signed_value.ts";

/** Header that carries the assertion. */
export const ASSERTION_HEADER = "X-Fleetctl-Assertion";
/** Longest lifetime of an assertion. */
const ASSERTION_SECONDS_MAX = 60;
/** Default lifetime of an assertion. */
const ASSERTION_SECONDS = 30;

const AUDIENCE = "fleetctl-cockpit";
const TYPE = "fleetctl-assertion+jwt";
/**
 * Root of the gateway's own host uses a separate token type, which the login proxy never signs. So
 * no sign-in name can impersonate it.
 */
const HOST_TYPE = "fleetctl-host-assertion+jwt";
const HOST_SUBJECT = "root";
/** Enough for the clocks of two processes on one host. */
const SKEW_SECONDS = 2;
const PURPOSE = "cockpit-assertion";
/** Key id of a single unnamed key. */
const DEFAULT_KID = "default";

/** One key of the ring. */
export interface AssertionKey {
  readonly kid: string;
  readonly secret: Uint8Array<ArrayBuffer>;
}
/** Keys in order: the first signs, all verify. */
export type AssertionKeys = readonly [AssertionKey, ...AssertionKey[]];

/** The asserted claims. `path` is the URL path without its query. */
export interface Assertion {
  readonly subject: string;
  readonly method: string;
  readonly path: string;
}

/**
 * Parses `WEBVIEW_ASSERTION_KEY`: `key`, or a ring `kid:key,kid:key`. Signing keys are derived for
 * this purpose only.
 */
export async function parseAssertionKeys(text: string): Promise<Result<AssertionKeys>> {
  const ring = parseKeyRing(text, "WEBVIEW_ASSERTION_KEY");
  if (!ring.ok) return ring;
  const [first, ...rest] = await Promise.all(ring.value.map(async (key) => ({
    kid: key.kid === "" ? DEFAULT_KID : key.kid,
    secret: await deriveKeyBytes(key, PURPOSE),
  })));
  if (first === undefined) throw new TypeError("a key ring contains at least one key");
  return ok([first, ...rest]);
}

/** Signs an assertion that is valid for `seconds` (at most a minute). */
export function mintAssertion(
  keys: AssertionKeys,
  assertion: Assertion,
  at: { readonly nowMs: number; readonly seconds?: number },
): Promise<string> {
  return sign(keys, { ...assertion, type: TYPE }, at);
}

/** Signs an assertion which proves that root of this host sends this request. */
export function mintHostAssertion(
  keys: AssertionKeys,
  request: Omit<Assertion, "subject">,
  at: { readonly nowMs: number },
): Promise<string> {
  return sign(keys, { ...request, subject: HOST_SUBJECT, type: HOST_TYPE }, at);
}

function sign(
  keys: AssertionKeys,
  assertion: Assertion & { readonly type: string },
  at: { readonly nowMs: number; readonly seconds?: number },
): Promise<string> {
  const now = Math.floor(at.nowMs / 1000);
  const seconds = Math.min(at.seconds ?? ASSERTION_SECONDS, ASSERTION_SECONDS_MAX);
  return new SignJWT({ htm: assertion.method.toUpperCase(), htu: assertion.path })
    .setProtectedHeader({ alg: "HS256", kid: keys[0].kid, typ: assertion.type })
    .setAudience(AUDIENCE)
    .setSubject(assertion.subject)
    .setIssuedAt(now)
    .setExpirationTime(now + seconds)
    .sign(keys[0].secret);
}

/** Why an assertion is rejected; for the log. */
export type AssertionFault =
  | "malformed"
  | "key-unknown"
  | "signature"
  | "expired"
  | "other-request";

/** The request that an assertion must match. */
interface AssertedRequest {
  readonly method: string;
  readonly path: string;
  readonly nowMs: number;
}

/** Verifies an assertion for exactly this request and returns its subject. */
export function verifyAssertion(
  keys: AssertionKeys,
  token: string,
  request: AssertedRequest,
): Promise<Result<string, AssertionFault>> {
  return verify(keys, token, { ...request, type: TYPE });
}

/** Verifies that root of this host sends exactly this request. */
export async function verifyHostAssertion(
  keys: AssertionKeys,
  token: string,
  request: AssertedRequest,
): Promise<boolean> {
  const subject = await verify(keys, token, { ...request, type: HOST_TYPE });
  return subject.ok && subject.value === HOST_SUBJECT;
}

async function verify(
  keys: AssertionKeys,
  token: string,
  request: AssertedRequest & { readonly type: string },
): Promise<Result<string, AssertionFault>> {
  const kid = keyIdOf(token);
  if (kid === undefined) return err("malformed");
  const key = keys.find((one) => one.kid === kid);
  if (key === undefined) return err("key-unknown");
  try {
    const { payload } = await jwtVerify(token, key.secret, {
      algorithms: ["HS256"],
      audience: AUDIENCE,
      typ: request.type,
      clockTolerance: SKEW_SECONDS,
      maxTokenAge: ASSERTION_SECONDS_MAX,
      currentDate: new Date(request.nowMs),
      requiredClaims: ["sub", "htm", "htu", "exp", "iat"],
    });
    const life = (payload.exp ?? 0) - (payload.iat ?? 0);
    if (life > ASSERTION_SECONDS_MAX) return err("expired");
    if (payload.htm !== request.method.toUpperCase() || payload.htu !== request.path) {
      return err("other-request");
    }
    return payload.sub === undefined || payload.sub === "" ? err("malformed") : ok(payload.sub);
  } catch (thrown) {
    const code = (thrown as { code?: unknown }).code;
    return err(code === "ERR_JWT_EXPIRED" ? "expired" : "signature");
  }
}

function keyIdOf(token: string): string | undefined {
  const head = token.split(".")[0] ?? "";
  if (token.length > 4096 || head === "") return undefined;
  try {
    const bytes = Uint8Array.fromBase64(head, { alphabet: "base64url" });
    const header = JSON.parse(new TextDecoder().decode(bytes)) as { kid?: unknown };
    return typeof header.kid === "string" ? header.kid : undefined;
  } catch {
    return undefined;
  }
}
