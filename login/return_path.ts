/**
 * Where a login leads back to: a path of this origin, or "/". Everything that a browser could take
 * for another origin, and every path with an effect of its own, becomes "/". No I/O.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";

const BASE = "http://return.invalid";
/** A control character, slash, backslash or percent sign that somebody may decode once more. */
const RISKY_ESCAPE = /%(?:[01][0-9a-f]|7f|2f|5c|25|c0|c1)/i;
// deno-lint-ignore no-control-regex
const RISKY = /[\\\u0000-\u0020\u007f-\u00a0\u2028\u2029\ufeff]/;
/** Logins, programs' routes and tunnels: no place to land on. */
const NO_PAGE = /^\/(?:auth|api|events|watch|terminal|browser|_internal)(?:\/|$)/i;

/** Returns the path to lead to. */
export function safeReturnPath(given: string | null | undefined): string {
  if (given === null || given === undefined) return "/";
  if (given.length > LOGIN_LIMITS.returnPathLengthMax || !given.startsWith("/")) return "/";
  if (given.startsWith("//") || RISKY.test(given) || !given.isWellFormed()) return "/";
  if (!URL.canParse(given, BASE)) return "/";
  const { origin, pathname, search, hash, username } = new URL(given, BASE);
  if (origin !== BASE || username !== "" || pathname.includes("//")) return "/";
  if (RISKY_ESCAPE.test(pathname) || NO_PAGE.test(pathname)) return "/";
  return pathname + search + hash;
}

/** Returns the address of the login that leads back to a path. */
export function loginPathFor(path: string): string {
  const back = safeReturnPath(path);
  return back === "/" ? "/auth/login" : `/auth/login?next=${encodeURIComponent(back)}`;
}
