/**
 * The paths that need no login. The compared path is exactly the forwarded one, and ambiguous paths
 * are not exempt. No I/O.
 *
 * @module
 */

const FILES: ReadonlySet<string> = new Set(["/manifest.webmanifest", "/sw.js"]);
const FOLDERS = ["/icons/", "/fonts/"];
/** Escapes, parameters, and empty or dot segments: anything that normalizing could change. */
const AMBIGUOUS = /[%;\\]|\/\/|\/\.{1,2}(?:\/|$)/;

/** Returns whether a request needs no login; `pathname` is that of the parsed URL. */
export function isExempt(method: string, pathname: string): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  if (AMBIGUOUS.test(pathname)) return false;
  return FILES.has(pathname) ||
    FOLDERS.some((folder) => pathname.startsWith(folder) && pathname.length > folder.length);
}
