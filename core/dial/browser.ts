/**
 * Detects a browser at the dial-in listener. Any web page could open a WebSocket to it and act as
 * an agent from inside the network. So browsers are refused before the upgrade. No I/O.
 *
 * @module
 */

import type { IsOwnName } from "core/net/host_name.ts";
import { hostnameOf } from "core/net/host_name.ts";

/** Returns which sign shows that a browser sent the request; undefined if there is none. */
export function browserSign(headers: Headers, isOwn: IsOwnName): string | undefined {
  for (const name of headers.keys()) {
    if (name.toLowerCase().startsWith("sec-fetch-")) return "sec-fetch-header";
  }
  const origin = headers.get("origin");
  if (origin === null) return undefined;
  if (!URL.canParse(origin)) return "foreign-origin";
  return isOwn(hostnameOf(new URL(origin).host)) ? undefined : "foreign-origin";
}
