/**
 * Whether a browser stores the login cookies at its current address. They are `Secure`, so the
 * address must be https or `localhost`. Otherwise a page explains what to do.
 *
 * @module
 */

import { type Caller, hostName } from "login/caller.ts";
import { insecureOriginPage } from "login/pages/pages.ts";
import type { LoginDeps, RequestContext } from "login/deps.ts";
import { parseIp } from "core/net/ip.ts";

/** Returns whether the browser sends the login cookies back from this origin. */
function isSecureOrigin(caller: Pick<Caller, "scheme" | "host">): boolean {
  if (caller.scheme === "https") return true;
  const name = hostName(caller.host ?? "");
  return name === "localhost" || name.endsWith(".localhost");
}

/**
 * Answers a browser at an insecure origin; undefined if the origin is secure. Loopback addresses
 * redirect to `localhost`, where browsers accept secure cookies and passkeys.
 */
export function refuseInsecureOrigin(
  context: RequestContext,
  deps: LoginDeps,
): Response | undefined {
  const { caller, url } = context;
  if (isSecureOrigin(caller)) return undefined;
  const host = caller.host ?? "";
  const address = parseIp(hostName(host));
  const port = /:(\d{1,5})$/.exec(host)?.[1];
  if (address !== undefined && isLoopback(address)) {
    const at = port === undefined ? "localhost" : `localhost:${port}`;
    return new Response(null, {
      status: 307,
      headers: {
        location: `http://${at}${url.pathname}${url.search}`,
        "cache-control": "no-store",
      },
    });
  }
  const { listen, publicUrl } = deps;
  const isAny = ["0.0.0.0", "::", "[::]", ""].includes(listen.hostname);
  const name = listen.hostname.includes(":") ? `[${listen.hostname}]` : listen.hostname;
  return insecureOriginPage({
    host,
    machine: hostName(host).replace(/^\[|\]$/g, ""),
    target: `${isAny ? "127.0.0.1" : name}:${listen.port()}`,
    port: listen.port(),
    publicUrl: publicUrl?.protocol === "https:" ? publicUrl.href : undefined,
  });
}

function isLoopback(address: Uint8Array): boolean {
  return address.length === 4
    ? address[0] === 127
    : address.at(-1) === 1 && address.subarray(0, -1).every((byte) => byte === 0);
}
