/**
 * The headers of forwarded requests and answers. Identity headers in any spelling are dropped
 * before the proxy adds its own, and hop-by-hop headers are not forwarded. No I/O.
 *
 * @module
 */

import { ASSERTION_HEADER } from "core/access/assertion.ts";
import type { Caller } from "login/caller.ts";
import { HeaderList, type HeaderPairs } from "core/http1/header_list.ts";
import { isUpstreamCookie, withoutOwnCookies } from "login/cookies.ts";

/** Header with the identity of the user. */
const IDENTITY_HEADER = "X-User-Email";
/** Header with the id of a request. */
export const REQUEST_ID_HEADER = "X-Request-Id";

/** Headers of one connection (RFC 9110, 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Folded names that only the login proxy may set. */
const RESERVED = [IDENTITY_HEADER, ASSERTION_HEADER, REQUEST_ID_HEADER].map(folded);
const FORWARDING = /^(?:x-forwarded(?:-.*)?|forwarded|x-real-ip|x-client-ip|true-client-ip)$/;
/**
 * Names with which some server, framework or proxy lets a client choose the path, the method or the
 * user. The cockpit reads none of them; dropping them protects servers behind it.
 */
const OVERRIDES = new RegExp(
  "^(?:" + [
    "x-original-(?:url|uri|host|method)",
    "x-rewrite-ur[li]",
    "x-(?:http-)?method(?:-override)?",
    "(?:x-)?(?:remote|authenticated|webauth|auth)-user(?:-.*)?",
    "x-(?:auth-request|goog-authenticated-user|ms-client-principal|amzn-oidc|pomerium)(?:-.*)?",
    "(?:cf-access|tailscale-user)(?:-.*)?",
    "(?:x-)?ssl-client(?:-.*)?",
    "(?:x-)?client-cert(?:-.*)?",
  ].join("|") + ")$",
);
/** Credentials and framing of the client's connection. */
const DROPPED: ReadonlySet<string> = new Set([
  "authorization",
  "cookie",
  "host",
  "content-length",
  "expect",
]);

/**
 * Size of each cache of names, so that invented names cannot fill memory. A name may keep alive the
 * whole head that it was sliced from, so a cache holds 2 MiB at most.
 */
const VERDICTS_MAX = 128;
const NO_NAMES: ReadonlySet<string> = new Set();

/** The facts about a request that the cockpit receives as headers. */
export interface ForwardContext {
  readonly caller: Caller;
  readonly requestId: string;
  /** Undefined without a login. */
  readonly identity:
    | { readonly principal: string; readonly assertion: string | undefined }
    | undefined;
}

/** Folds a name as the most tolerant server would: ignores case, unifies separators. */
function folded(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}

/** Whether a header name is forwarded; cached, because clients repeat the same names. */
const verdicts = new Map<string, boolean>();

function isKept(name: string): boolean {
  const known = verdicts.get(name);
  if (known !== undefined) return known;
  const fold = folded(name);
  const isDropped = HOP_BY_HOP.has(name) || DROPPED.has(name) || RESERVED.includes(fold) ||
    FORWARDING.test(fold) || OVERRIDES.test(fold);
  if (verdicts.size >= VERDICTS_MAX) verdicts.clear();
  verdicts.set(name, !isDropped);
  return !isDropped;
}

/** Returns the headers for the cockpit. */
export function requestHeaders(from: HeaderList, context: ForwardContext): HeaderList {
  const named = connectionNames(from.get("connection"));
  const to = new HeaderList();
  for (const [name, value] of from) {
    if (!isKept(name) || named.has(name)) continue;
    to.append(name, value);
  }
  const { caller, identity, requestId } = context;
  const cookies = identity === undefined ? undefined : withoutOwnCookies(from.get("cookie"));
  if (cookies !== undefined) to.set("cookie", cookies);
  to.set("x-forwarded-for", caller.forwardedFor);
  to.set("x-forwarded-proto", caller.scheme);
  if (caller.host !== undefined) to.set("x-forwarded-host", caller.host);
  to.set(REQUEST_ID_HEADER, requestId);
  if (identity !== undefined) {
    to.set(IDENTITY_HEADER, identity.principal);
    if (identity.assertion !== undefined) to.set(ASSERTION_HEADER, identity.assertion);
  }
  return to;
}

/** Returns the headers for the client; the cockpit cannot set cookies of the login proxy. */
export function responseHeaders(from: HeaderPairs): HeaderList {
  const named = connectionNames(from.find(([name]) => name === "connection")?.[1] ?? null);
  const to = new HeaderList();
  for (const [name, value] of from) {
    if (HOP_BY_HOP.has(name) || named.has(name)) continue;
    if (name === "set-cookie" && !isUpstreamCookie(value)) continue;
    if (isReserved(name)) continue;
    to.append(name, value);
  }
  return to;
}

/** Whether a name folds to a reserved one; cached in the same way. */
const reservedVerdicts = new Map<string, boolean>();

function isReserved(name: string): boolean {
  const known = reservedVerdicts.get(name);
  if (known !== undefined) return known;
  const isOne = RESERVED.includes(folded(name));
  if (reservedVerdicts.size >= VERDICTS_MAX) reservedVerdicts.clear();
  reservedVerdicts.set(name, isOne);
  return isOne;
}

/** Names listed in `Connection`, which are hop-by-hop too. */
function connectionNames(value: string | null): ReadonlySet<string> {
  if (value === null) return NO_NAMES;
  return new Set(value.split(",").map((name) => name.trim().toLowerCase()));
}
