/**
 * Under which host names this gateway is itself: loopback, the host's name and addresses, the names
 * of the settings. No I/O. A proof for another name was made for somebody else, and a page of
 * another origin has no business here.
 *
 * @module
 */

/** Tells whether a host name, without port and in lowercase, is this gateway. */
export type IsOwnName = (hostname: string) => boolean;

/** Returns the test for the given names and addresses. */
export function ownNames(names: readonly string[]): IsOwnName {
  const own = new Set(names.map((name) => bare(name)));
  return (hostname) => isLoopbackName(bare(hostname)) || own.has(bare(hostname));
}

/** Tells whether a host name or address is loopback. */
export function isLoopbackName(hostname: string): boolean {
  const name = bare(hostname);
  return name === "localhost" || name === "::1" || /^127(?:\.\d{1,3}){3}$/.test(name) ||
    /^::ffff:127(?:\.\d{1,3}){3}$/.test(name);
}

/** Returns the host name of a `Host` header or an origin's `host:port`. */
export function hostnameOf(host: string): string {
  const url = `ws://${host}`;
  return URL.canParse(url) ? bare(new URL(url).hostname) : "";
}

function bare(name: string): string {
  return name.toLowerCase().replace(/^\[|\]$/g, "").replace(/\.$/, "");
}
