/**
 * Checks the bearer token of a delivery before its body is read: issuer, audience, expiry. Every
 * rule is strict, because an accepted token decides which agent receives a message.
 *
 * | Rule | Source |
 * |---|---|
 * | one `Authorization` header, scheme `Bearer` | Bot Connector authentication, rule 1 |
 * | RS256 by a published key; nothing in the header may name another key or an extension | rules 2 and 6, RFC 8725 3.1, RFC 7515 4.1.11 |
 * | `iss` is the cloud's connector, exactly | rule 3 |
 * | `aud` is the bot's application id, or an alias of the settings, exactly | rule 4 |
 * | `exp` is present, not past, and not far away; `nbf` and `iat` not in the future | rule 5, five minutes of skew |
 *
 * The rules that compare the token with the body (`serviceurl`, endorsement) are in
 * `core/teamchat/route.ts`.
 *
 * @module
 */

import { isEqualInConstantTime } from "core/crypto/constant_time.ts";
import { compactVerify } from "jose";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Clock } from "core/ports/clock.ts";
import { createTtlCache } from "core/ttl_cache.ts";
import type { TokenFacts } from "core/teamchat/route.ts";
import { ALGORITHM, type KeySet, type SigningKey } from "teamchat/inbound/key_set.ts";
import type { Metrics } from "teamchat/metrics.ts";

/** Why a token is refused; for the log, never sent. */
export type TokenFault =
  | "header-absent"
  | "header-malformed"
  | "token-too-long"
  | "token-malformed"
  | "algorithm-foreign"
  | "header-names-a-key"
  | "header-critical"
  | "key-absent"
  | "key-unknown"
  | "signature-invalid"
  | "issuer-foreign"
  | "audience-foreign"
  | "expiry-absent"
  | "expiry-far"
  | "expired"
  | "not-yet-valid"
  | "issued-in-the-future";

/** Result of the check. */
export type TokenJudgement =
  | { readonly kind: "verified"; readonly facts: TokenFacts }
  | { readonly kind: "refused"; readonly why: TokenFault }
  | { readonly kind: "unavailable" };

/** Checks tokens. */
export interface ConnectorTokens {
  /** Synchronous for a recently verified token, which is the usual case. */
  judge(authorization: string | null): TokenJudgement | Promise<TokenJudgement>;
}

/** Dependencies of the check. */
export interface ConnectorTokenDeps {
  readonly issuer: string;
  /** The application id and its aliases. */
  readonly audiences: ReadonlySet<string>;
  readonly keys: KeySet;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Caches verified tokens; false to measure the benefit. */
  readonly isCached?: boolean;
}

interface Claims {
  readonly facts: Pick<TokenFacts, "serviceUrl">;
  readonly exp: number;
}

interface Verified extends Claims {
  readonly key: SigningKey;
}

/** Creates the check. */
export function createConnectorTokens(deps: ConnectorTokenDeps): ConnectorTokens {
  const { keys, clock, metrics } = deps;
  const verified = createTtlCache<Verified>(TEAMCHAT_LIMITS.verifiedTokensKept);
  const isCached = deps.isCached ?? true;
  const latest = createLatest();

  /** A cached token is valid only while its key is. */
  function remembered(print: string, now: number): Verified | undefined {
    const known = verified.get(print, now);
    return known !== undefined && keys.current(known.key.kid) === known.key ? known : undefined;
  }

  async function judge(
    authorization: string | null,
  ): Promise<{ readonly judged: TokenJudgement; readonly isKnown: boolean }> {
    const token = bearerOf(authorization);
    if (!token.ok) return fresh(refused(token.why));
    const print = isCached ? await fingerprint(token.value) : "";
    const now = clock.now();
    const known = isCached ? remembered(print, now) : undefined;
    if (known !== undefined) {
      latest.keep(authorization ?? "", print);
      return { judged: accepted(known), isKnown: true };
    }
    const read = parseToken(token.value, deps, now);
    if (!read.ok) return fresh(refused(read.why));
    const key = await keys.find(read.kid);
    if (key === "unavailable") return fresh({ kind: "unavailable" });
    if (key === "unknown") return fresh(refused("key-unknown"));
    if (!await isSigned(token.value, key)) return fresh(refused("signature-invalid"));
    const found = { ...read.claims, key };
    const until = (found.exp + TEAMCHAT_LIMITS.clockSkewSeconds) * 1000;
    if (isCached) verified.keep(print, found, until);
    return fresh(accepted(found));
  }

  async function judgeAndCount(authorization: string | null): Promise<TokenJudgement> {
    const { judged, isKnown } = await judge(authorization);
    metrics.count("tokens", { result: isKnown ? "cached" : resultOf(judged) });
    return judged;
  }

  return {
    judge: (authorization) => {
      const print = isCached ? latest.find(authorization ?? "") : undefined;
      const known = print === undefined ? undefined : remembered(print, clock.now());
      if (known === undefined) return judgeAndCount(authorization);
      metrics.count("tokens", { result: "cached" });
      return accepted(known);
    },
  };
}

/** The last valid headers, stored whole, so that they need not be parsed and hashed again. */
const LATEST_KEPT = 8;
/**
 * Characters at the end of a signature that index a header; timing of the lookup reveals only
 * these.
 */
const FOUND_BY = 16;

/**
 * The platform uses one token for many deliveries, and hashing it each time is a sixth of the
 * work. The comparison is constant-time, so an attacker learns nothing from its duration.
 */
function createLatest() {
  const kept = new Map<string, { readonly authorization: string; readonly print: string }>();
  return {
    find: (authorization: string): string | undefined => {
      const found = kept.get(authorization.slice(-FOUND_BY));
      return found !== undefined && isEqualInConstantTime(found.authorization, authorization)
        ? found.print
        : undefined;
    },
    keep: (authorization: string, print: string): void => {
      kept.delete(authorization.slice(-FOUND_BY));
      const [oldest] = kept.keys();
      if (kept.size >= LATEST_KEPT && oldest !== undefined) kept.delete(oldest);
      kept.set(authorization.slice(-FOUND_BY), { authorization, print });
    },
  };
}

function fresh(judged: TokenJudgement) {
  return { judged, isKnown: false };
}

function accepted({ facts, key }: Verified): TokenJudgement {
  return { kind: "verified", facts: { ...facts, endorsements: key.endorsements } };
}

function resultOf(judged: TokenJudgement): string {
  if (judged.kind === "verified") return "fresh";
  return judged.kind === "refused" ? judged.why : judged.kind;
}

function refused(why: TokenFault): TokenJudgement {
  return { kind: "refused", why };
}

type Read<T> = ({ readonly ok: true } & T) | { readonly ok: false; readonly why: TokenFault };

function bearerOf(authorization: string | null): Read<{ readonly value: string }> {
  if (authorization === null || authorization === "") return { ok: false, why: "header-absent" };
  // Several header lines are joined by a comma, which a token never contains.
  const found = /^Bearer ([A-Za-z0-9_.-]+)$/i.exec(authorization);
  if (found === null) return { ok: false, why: "header-malformed" };
  const value = found[1] ?? "";
  return value.length > TEAMCHAT_LIMITS.tokenLengthMax
    ? { ok: false, why: "token-too-long" }
    : { ok: true, value };
}

/**
 * Parses and checks header and claims before the signature is verified. `nowMs` is in milliseconds;
 * the times of the claims are in seconds.
 */
function parseToken(
  token: string,
  rules: Pick<ConnectorTokenDeps, "issuer" | "audiences">,
  nowMs: number,
): Read<{ readonly kid: string; readonly claims: Claims }> {
  const bad = (why: TokenFault) => ({ ok: false as const, why });
  const sections = token.split(".");
  const header = sections.length === 3 ? parseJsonObject(sections[0] ?? "") : undefined;
  const claims = parseJsonObject(sections[1] ?? "");
  if (header === undefined || claims === undefined) return bad("token-malformed");
  const headerFault = headerFaultOf(header);
  if (headerFault !== undefined) return bad(headerFault);
  if (claims.iss !== rules.issuer) return bad("issuer-foreign");
  if (typeof claims.aud !== "string" || !rules.audiences.has(claims.aud)) {
    return bad("audience-foreign");
  }
  const timeFault = timeFaultOf(claims, nowMs / 1000);
  if (timeFault !== undefined) return bad(timeFault);
  // Lowercase on the wire, mixed case in the documentation.
  const serviceUrl = claims.serviceurl ?? claims.serviceUrl;
  return {
    ok: true,
    kid: String(header.kid),
    claims: {
      facts: { serviceUrl: typeof serviceUrl === "string" ? serviceUrl : undefined },
      exp: Number(claims.exp),
    },
  };
}

function headerFaultOf(header: Readonly<Record<string, unknown>>): TokenFault | undefined {
  if (header.alg !== ALGORITHM) return "algorithm-foreign";
  if (["jwk", "jku", "x5u", "x5c"].some((name) => Object.hasOwn(header, name))) {
    return "header-names-a-key";
  }
  if (Object.hasOwn(header, "crit")) return "header-critical";
  const { kid } = header;
  return typeof kid === "string" && kid !== "" && kid.length <= KID_LENGTH_MAX
    ? undefined
    : "key-absent";
}
const KID_LENGTH_MAX = 256;

function timeFaultOf(
  { exp, nbf, iat }: Readonly<Record<string, unknown>>,
  now: number,
): TokenFault | undefined {
  const { clockSkewSeconds: skew, tokenSecondsMax } = TEAMCHAT_LIMITS;
  if (!isTime(exp)) return "expiry-absent";
  if (exp + skew < now) return "expired";
  if (exp - now > tokenSecondsMax + skew) return "expiry-far";
  if (nbf !== undefined && (!isTime(nbf) || nbf - skew > now)) return "not-yet-valid";
  if (iat !== undefined && (!isTime(iat) || iat - skew > now)) return "issued-in-the-future";
  return undefined;
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

function parseJsonObject(encoded: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const bytes = Uint8Array.fromBase64(encoded, { alphabet: "base64url" });
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? value as Record<string, unknown>
      : undefined;
  } catch {
    return undefined;
  }
}

async function isSigned(token: string, key: SigningKey): Promise<boolean> {
  try {
    await compactVerify(token, key.key, { algorithms: [ALGORITHM] });
    return true;
  } catch {
    return false;
  }
}

/** Tokens are cached by hash, so that memory contains only the latest as usable credentials. */
async function fingerprint(token: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return new Uint8Array(bytes).toBase64();
}
