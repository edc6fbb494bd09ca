/**
 * The cookies of the login proxy as one table: exact names, one value each, common attributes.
 * Duplicate cookie names are ignored.
 *
 * With the prefix `__Host-`, browsers bind them to this host and to https. All then have the path
 * `/`.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits/login.ts";
import { trimmed } from "core/http1/messages.ts";

const DAY_SECONDS = 86_400;
const HEADER_LENGTH_MAX = 64 * 1024;

/** One cookie: its name, its path, and its lifetime if that is fixed. */
export interface CookieRow {
  readonly name: string;
  readonly path: string;
  /** Undefined for the session, whose lifetime is `WEBVIEW_SESSION_TTL`. */
  readonly maxAgeSeconds: number | undefined;
}

/** All cookies. */
export const COOKIES = {
  session: { name: "wv_session", path: "/", maxAgeSeconds: undefined },
  oidcState: { name: "wv_oidc_state", path: "/", maxAgeSeconds: LOGIN_LIMITS.flowSeconds },
  form: { name: "wv_login_csrf", path: "/auth/login", maxAgeSeconds: LOGIN_LIMITS.formSeconds },
  refresh: { name: "wv_refresh_ref", path: "/", maxAgeSeconds: 90 * DAY_SECONDS },
  device: { name: "wv_wa_device", path: "/", maxAgeSeconds: 730 * DAY_SECONDS },
} as const satisfies Readonly<Record<string, CookieRow>>;

/** Values of `WEBVIEW_COOKIE_PREFIX`. */
const COOKIE_PREFIXES = ["", "__Host-"] as const;
/** One of `COOKIE_PREFIXES`. */
export type CookiePrefix = typeof COOKIE_PREFIXES[number];

/** Parses and serializes the cookies with one prefix. */
export interface CookieJar {
  /** Returns the value; undefined unless the cookie occurs exactly once. */
  read(header: string | null, cookie: CookieRow): string | undefined;
  /** Returns all values, including duplicates. For logout only, never for authentication. */
  readAll(header: string | null, cookie: CookieRow): readonly string[];
  /** Returns whether the name occurs at all. */
  isIn(header: string | null, cookie: CookieRow): boolean;
  /** Returns a `Set-Cookie` header; `maxAgeSeconds` is for the session only. */
  print(cookie: CookieRow, value: string, maxAgeSeconds?: number): string;
  /** Returns the `Set-Cookie` header that deletes a cookie. */
  clear(cookie: CookieRow): string;
}

/** Creates a jar for one prefix. */
export function createCookieJar(prefix: CookiePrefix): CookieJar {
  const print = (cookie: CookieRow, value: string, maxAgeSeconds: number) =>
    `${prefix}${cookie.name}=${value}; Path=${prefix === "" ? cookie.path : "/"}; ` +
    `Max-Age=${maxAgeSeconds}; HttpOnly; Secure; SameSite=Lax`;
  const readAll: CookieJar["readAll"] = (header, { name }) =>
    pairsOf(header).filter((pair) => pair.name === prefix + name).map((pair) => pair.value);
  return {
    read: (header, cookie) => {
      const values = readAll(header, cookie);
      return values.length === 1 ? values[0] : undefined;
    },
    readAll,
    isIn: (header, { name }) => pairsOf(header).some((pair) => pair.name === prefix + name),
    print: (cookie, value, maxAgeSeconds) => {
      const seconds = cookie.maxAgeSeconds ?? maxAgeSeconds;
      if (seconds === undefined) throw new TypeError(`${cookie.name} needs a lifetime`);
      return print(cookie, value, seconds);
    },
    clear: (cookie) => print(cookie, "", 0),
  };
}

/** Returns whether any server could read this name as a cookie of the login proxy. */
function isOwnCookie(name: string): boolean {
  return /^[\s=]*(?:__(?:host|secure|http|host-http)-)?wv_/i.test(name);
}

/**
 * Returns whether the cockpit may set this cookie. Browsers send a nameless cookie back as its bare
 * value, so `=wv_session=x` would return as `wv_session=x`.
 */
export function isUpstreamCookie(setCookie: string): boolean {
  const isNamed = /^\s*[^\s=;][^=;]*=/.test(setCookie);
  return isNamed && !isOwnCookie(setCookie);
}

/**
 * Returns a `Cookie` header without the cookies of the login proxy; undefined if none remains.
 */
export function withoutOwnCookies(header: string | null): string | undefined {
  if (header === null) return undefined;
  const others = pairsOf(header).filter((pair) => !isOwnCookie(pair.name));
  return others.length === 0 ? undefined : others.map((pair) => pair.text).join("; ");
}

interface Pair {
  readonly name: string;
  readonly value: string;
  readonly text: string;
}

/**
 * Splits a `Cookie` header. Trims only spaces and tabs, because trimming other white space could
 * make two different names equal.
 */
function pairsOf(header: string | null): readonly Pair[] {
  if (header === null || header.length > HEADER_LENGTH_MAX) return [];
  const pairs: Pair[] = [];
  for (const part of header.split(";")) {
    const text = trimmed(part);
    const equals = text.indexOf("=");
    if (equals >= 1) {
      pairs.push({ name: text.slice(0, equals), value: text.slice(equals + 1), text });
    }
  }
  return pairs;
}
