/**
 * Recognizes a browser at the dial-in listener. No I/O. Any page could open a WebSocket to it and
 * speak as an agent from inside the network, so browsers are refused before the upgrade.
 *
 * @module
 */

import type { IsOwnName } from "core/net/host_name.ts";
import { hostnameOf } from "core/net/host_name.ts";

/** Returns why a request must come from a browser, or undefined when nothing shows that it does. */
export function browserSign(headers: Headers, isOwn: IsOwnName): string | undefined {
  for (const name of headers.keys()) {
    if (name.toLowerCase().startsWith("sec-fetch-")) return "sec-fetch-header";
  }
  const origin = headers.get("origin");
  if (origin === null) return undefined;
  if (!URL.canParse(origin)) return "foreign-origin";
  return isOwn(hostnameOf(new URL(origin).host)) ? undefined : "foreign-origin";
}
