/**
 * Whether a browser keeps our cookies at the address it was opened with: they are `Secure`, so it
 * must be https, or this very machine by the name `localhost`. Otherwise a page says what to do.
 *
 * @module
 */

import { type Caller, hostName } from "login/caller.ts";
import { insecureOriginPage } from "login/pages/pages.ts";
import type { Asked, LoginParts } from "login/parts.ts";
import { parseIp } from "core/ip.ts";

/** Tells whether cookies reach us again from where the page was opened. */
export function isSecureOrigin(caller: Pick<Caller, "scheme" | "host">): boolean {
  if (caller.scheme === "https") return true;
  const name = hostName(caller.host ?? "");
  return name === "localhost" || name.endsWith(".localhost");
}

/**
 * Answers a person at an insecure origin; undefined when the origin is fine. A loopback address
 * leads to `localhost`, the one name of this machine that cookies and passkeys both know.
 */
export function refuseInsecureOrigin(asked: Asked, parts: LoginParts): Response | undefined {
  const { caller, url } = asked;
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
  const { listen, publicUrl } = parts;
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
