/**
 * The cookies of the login proxy (spec "Cookies"): exact names, one value each, and the attributes
 * that every one of them has. A name that is there twice is nobody's cookie.
 *
 * @module
 */

/** The session. */
export const SESSION_COOKIE = "wv_session";
/** The form that a login is posted from. */
export const FORM_COOKIE = "wv_login_csrf";

const HEADER_LENGTH_MAX = 64 * 1024;

/** Returns the value of a cookie; undefined when it is not there exactly once. */
export function readCookie(header: string | null, name: string): string | undefined {
  const values = pairsOf(header).filter((pair) => pair.name === name);
  return values.length === 1 ? values[0]?.value : undefined;
}

/** Returns a `Cookie` header without the cookies of the login proxy; undefined when none is left. */
export function withoutOwnCookies(header: string | null): string | undefined {
  const others = pairsOf(header).filter((pair) => !/^wv_/i.test(pair.name));
  return others.length === 0 ? undefined : others.map((pair) => pair.text).join("; ");
}

/** Prints a `Set-Cookie` header; a lifetime of 0 takes the cookie away. */
export function printCookie(
  name: string,
  value: string,
  how: { readonly path: string; readonly maxAgeSeconds: number },
): string {
  return `${name}=${value}; Path=${how.path}; Max-Age=${how.maxAgeSeconds}; ` +
    "HttpOnly; Secure; SameSite=Lax";
}

interface Pair {
  readonly name: string;
  readonly value: string;
  readonly text: string;
}

/** Only spaces and tabs around a pair are taken off: other white space would make one name of two. */
function pairsOf(header: string | null): readonly Pair[] {
  if (header === null || header.length > HEADER_LENGTH_MAX) return [];
  return header.split(";").flatMap((part) => {
    const text = part.replace(/^[ \t]+|[ \t]+$/g, "");
    const equals = text.indexOf("=");
    if (equals < 1) return [];
    return [{ name: text.slice(0, equals), value: text.slice(equals + 1), text }];
  });
}
