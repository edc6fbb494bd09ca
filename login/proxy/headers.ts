/**
 * The headers of a request on its way to the cockpit, and of the answer on its way back: identity
 * headers in any spelling are dropped before ours are set (decision 28), and nothing of one connection
 * passes to another. No I/O.
 *
 * @module
 */

import { ASSERTION_HEADER } from "core/access/assertion.ts";
import type { Caller } from "login/caller.ts";
import { HeaderList } from "core/header_list.ts";
import type { HeaderPairs } from "core/proxy_port.ts";
import { isForOthers, withoutOwnCookies } from "login/cookies.ts";

/** Header with the identity of the viewer. */
export const IDENTITY_HEADER = "X-User-Email";
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
/** Families that we alone speak for, folded. */
const OURS = [IDENTITY_HEADER, ASSERTION_HEADER, REQUEST_ID_HEADER].map(folded);
const FORWARDING = /^(?:x-forwarded(?:-.*)?|forwarded|x-real-ip|x-client-ip|true-client-ip)$/;
/**
 * Names by which some server, framework or proxy lets a client choose the path, the method or the
 * user. The cockpit reads none of them, and nothing behind it shall either.
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
/** Credentials and lengths that belong to this side. */
const DROPPED: ReadonlySet<string> = new Set([
  "authorization",
  "cookie",
  "host",
  "content-length",
  "expect",
]);

/**
 * Names that are remembered. A client that makes names up gets no more of our memory: a name may keep
 * the whole head that it was cut from, so this is 2 MiB at most.
 */
const VERDICTS_MAX = 128;
const NO_NAMES: ReadonlySet<string> = new Set();

/** What the cockpit is told about a request. */
export interface Vouched {
  readonly caller: Caller;
  readonly requestId: string;
  /** Undefined where nobody is signed in. */
  readonly identity:
    | { readonly principal: string; readonly assertion: string | undefined }
    | undefined;
}

/** Folds a name as the most tolerant upstream would: case and every separator are one. */
export function folded(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}

/** Whether a name may pass, whatever its value; remembered, because clients send the same ones. */
const verdicts = new Map<string, boolean>();

function isKept(name: string): boolean {
  const known = verdicts.get(name);
  if (known !== undefined) return known;
  const fold = folded(name);
  const isDropped = HOP_BY_HOP.has(name) || DROPPED.has(name) || OURS.includes(fold) ||
    FORWARDING.test(fold) || OVERRIDES.test(fold);
  if (verdicts.size >= VERDICTS_MAX) verdicts.clear();
  verdicts.set(name, !isDropped);
  return !isDropped;
}

/** Returns the headers for the cockpit. */
export function requestHeaders(from: HeaderList, vouched: Vouched): HeaderList {
  const named = connectionNames(from.get("connection"));
  const to = new HeaderList();
  for (const [name, value] of from) {
    if (!isKept(name) || named.has(name)) continue;
    to.append(name, value);
  }
  const { caller, identity, requestId } = vouched;
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

/** Returns the headers for the client; cookies of the login proxy are ours alone to set. */
export function responseHeaders(from: HeaderPairs): HeaderList {
  const named = connectionNames(from.find(([name]) => name === "connection")?.[1] ?? null);
  const to = new HeaderList();
  for (const [name, value] of from) {
    if (HOP_BY_HOP.has(name) || named.has(name)) continue;
    if (name === "set-cookie" && !isForOthers(value)) continue;
    if (isOurs(name)) continue;
    to.append(name, value);
  }
  return to;
}

/** Whether a name folds to one that we alone speak for; remembered as the verdicts above are. */
const ours = new Map<string, boolean>();

function isOurs(name: string): boolean {
  const known = ours.get(name);
  if (known !== undefined) return known;
  const isOne = OURS.includes(folded(name));
  if (ours.size >= VERDICTS_MAX) ours.clear();
  ours.set(name, isOne);
  return isOne;
}

/** Names in `Connection`, which are of one connection too; never one that we set afterwards. */
function connectionNames(value: string | null): ReadonlySet<string> {
  if (value === null) return NO_NAMES;
  return new Set(value.split(",").map((name) => name.trim().toLowerCase()));
}
