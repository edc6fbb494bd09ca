/**
 * Hosts that the login proxy must reach for an OpenID provider, as `host:port`: the issuer's own,
 * and those where large providers serve tokens, keys and user info. Pure.
 *
 * @module
 */

const EXTRA_HOSTS: Readonly<Record<string, readonly string[]>> = {
  "accounts.google.com": [
    "oauth2.googleapis.com:443",
    "openidconnect.googleapis.com:443",
    "www.googleapis.com:443",
  ],
  "login.microsoftonline.com": ["graph.microsoft.com:443"],
  "login.microsoftonline.us": ["graph.microsoft.us:443"],
};

/** Returns the hosts of an issuer; empty if it is not a URL. */
export function providerHosts(issuer: string | undefined): readonly string[] {
  if (issuer === undefined || !URL.canParse(issuer)) return [];
  const { hostname, port, protocol } = new URL(issuer);
  const standard = protocol === "http:" ? "80" : "443";
  return [`${hostname}:${port === "" ? standard : port}`, ...(EXTRA_HOSTS[hostname] ?? [])];
}
