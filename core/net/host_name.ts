/**
 * The host names that this gateway answers to: loopback, the host's name and addresses, and the
 * names in the settings. No I/O. An access assertion for another name was issued to another
 * service, and a page of another origin must not use this gateway.
 *
 * @module
 */

/** Tells whether a host name (lowercase, without port) is this gateway. */
export type IsOwnName = (hostname: string) => boolean;

/** Returns the predicate for the given names and addresses; loopback always matches. */
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

/** Returns the host name of a `Host` header or of an origin's `host:port`; "" when invalid. */
export function hostnameOf(host: string): string {
  const url = `ws://${host}`;
  return URL.canParse(url) ? bare(new URL(url).hostname) : "";
}

function bare(name: string): string {
  return name.toLowerCase().replace(/^\[|\]$/g, "").replace(/\.$/, "");
}
