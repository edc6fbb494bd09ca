/**
 * The cookies of the login proxy as one table (spec "Cookies"): exact names, one value each, and the
 * attributes that every one of them has. Duplicate cookie names are ignored.
 *
 * With the prefix `__Host-` browsers hold them to this host and to https; they all have the path `/` then.
 *
 * @module
 */

import { trimmed } from "core/http1.ts";

const DAY_SECONDS = 86_400;
const HEADER_LENGTH_MAX = 64 * 1024;

/** One row: its name, its path, and its lifetime where that is fixed. */
export interface CookieRow {
  readonly name: string;
  readonly path: string;
  /** Undefined for the session, whose lifetime is `WEBVIEW_SESSION_TTL`. */
  readonly maxAgeSeconds: number | undefined;
}

/** All cookies. */
export const COOKIES = {
  session: { name: "wv_session", path: "/", maxAgeSeconds: undefined },
  oidcState: { name: "wv_oidc_state", path: "/", maxAgeSeconds: 600 },
  form: { name: "wv_login_csrf", path: "/auth/login", maxAgeSeconds: 3_600 },
  refresh: { name: "wv_refresh_ref", path: "/", maxAgeSeconds: 90 * DAY_SECONDS },
  device: { name: "wv_wa_device", path: "/", maxAgeSeconds: 730 * DAY_SECONDS },
} as const satisfies Readonly<Record<string, CookieRow>>;

/** Prefixes that `WEBVIEW_COOKIE_PREFIX` may ask for. */
export const COOKIE_PREFIXES = ["", "__Host-"] as const;
/** How cookies are spelled here. */
export type CookiePrefix = typeof COOKIE_PREFIXES[number];

/** Reads and prints the cookies of one spelling. */
export interface CookieJar {
  /** Returns the value; undefined when it is not there exactly once. */
  read(header: string | null, cookie: CookieRow): string | undefined;
  /** Returns every value, of duplicates too. For ending what they stand for, never to let in. */
  readAll(header: string | null, cookie: CookieRow): readonly string[];
  /** Tells whether the name is there at all, good or not. */
  isIn(header: string | null, cookie: CookieRow): boolean;
  /** Prints a `Set-Cookie` header; `maxAgeSeconds` is for the session alone. */
  print(cookie: CookieRow, value: string, maxAgeSeconds?: number): string;
  /** Prints the header that takes a cookie away. */
  clear(cookie: CookieRow): string;
}

/** Creates the jar of one prefix. */
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

/** Tells whether a name is one of ours in any spelling that somebody could take for it. */
export function isOwnCookie(name: string): boolean {
  return /^[\s=]*(?:__(?:host|secure|http|host-http)-)?wv_/i.test(name);
}

/**
 * Tells whether the cockpit may set this cookie. One without a name is sent back as its bare value, so
 * that `=wv_session=x` comes again as `wv_session=x`.
 */
export function isForOthers(setCookie: string): boolean {
  const isNamed = /^\s*[^\s=;][^=;]*=/.test(setCookie);
  return isNamed && !isOwnCookie(setCookie);
}

/** Returns a `Cookie` header without the cookies of the login proxy; undefined when none is left. */
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

/** Only spaces and tabs around a pair are taken off: other white space would make one name of two. */
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
