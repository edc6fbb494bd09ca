/**
 * The paths that need no login (spec "Login proxy routes"). What is compared is exactly what is sent
 * on; a path that somebody could read in a second way is not exempt. No I/O.
 *
 * @module
 */

const FILES: ReadonlySet<string> = new Set(["/manifest.webmanifest", "/sw.js"]);
const FOLDERS = ["/icons/", "/fonts/"];
/** Escapes, parameters and empty segments: all that decoding or normalizing could change. */
const AMBIGUOUS = /[%;\\]|\/\/|\/\.{1,2}(?:\/|$)/;

/** Tells whether a request needs no login; `pathname` is that of the parsed URL. */
export function isExempt(method: string, pathname: string): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  if (AMBIGUOUS.test(pathname)) return false;
  return FILES.has(pathname) ||
    FOLDERS.some((folder) => pathname.startsWith(folder) && pathname.length > folder.length);
}
