/**
 * The return path after a login: a path of this origin, or "/". Any text that a browser could read
 * as another origin, and any path with a side effect, becomes "/". No I/O.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits/login.ts";

const BASE = "http://return.invalid";
/** An escaped control character, slash, backslash or percent sign, which may be decoded twice. */
const RISKY_ESCAPE = /%(?:[01][0-9a-f]|7f|2f|5c|25|c0|c1)/i;
// deno-lint-ignore no-control-regex
const RISKY = /[\\\u0000-\u0020\u007f-\u00a0\u2028\u2029\ufeff]/;
/** Login, API and tunnel routes, which are not pages. */
const NOT_PAGES = /^\/(?:auth|api|events|watch|terminal|browser|_internal)(?:\/|$)/i;

/** Returns the path if it is safe, else "/". */
export function safeReturnPath(given: string | null | undefined): string {
  if (given === null || given === undefined) return "/";
  if (given.length > LOGIN_LIMITS.returnPathLengthMax || !given.startsWith("/")) return "/";
  if (given.startsWith("//") || RISKY.test(given) || !given.isWellFormed()) return "/";
  if (!URL.canParse(given, BASE)) return "/";
  const { origin, pathname, search, hash, username } = new URL(given, BASE);
  if (origin !== BASE || username !== "" || pathname.includes("//")) return "/";
  if (RISKY_ESCAPE.test(pathname) || NOT_PAGES.test(pathname)) return "/";
  return pathname + search + hash;
}

/** Returns the path of the login page that returns to `path`. */
export function loginPathFor(path: string): string {
  const back = safeReturnPath(path);
  return back === "/" ? "/auth/login" : `/auth/login?next=${encodeURIComponent(back)}`;
}
