/**
 * Which `serviceUrl` an answer may go to. Pure. Answers carry a bearer token, so the address is
 * compared as a whole origin with a fixed list: no suffixes, no redirects, no addresses
 * (Bot Connector authentication, rule 7, and the setting `service_hosts`).
 *
 * @module
 */

import { isLoopbackName } from "core/net/host_name.ts";

/** Longest `serviceUrl` that is looked at. */
const LENGTH_MAX = 512;

/** How a `serviceUrl` is judged. */
export type ServiceHosts =
  | { readonly mode: "cloud"; readonly origins: ReadonlySet<string> }
  /** Local test mode: plain http to this machine only. */
  | { readonly mode: "local" };

/** Why a `serviceUrl` is refused; for the log. */
export type ServiceUrlFault = "service-url-unreadable" | "service-url-foreign";

/** Returns the base for answers, without a slash at its end, or why there is none. */
export function checkServiceUrl(
  text: string,
  hosts: ServiceHosts,
): { readonly ok: true; readonly base: string } | { readonly ok: false; why: ServiceUrlFault } {
  const place = readPlace(text);
  if (place === undefined) return { ok: false, why: "service-url-unreadable" };
  const isAllowed = hosts.mode === "cloud"
    ? hosts.origins.has(place.origin)
    : isLoopbackName(place.hostname);
  return isAllowed ? { ok: true, base: place.base } : { ok: false, why: "service-url-foreign" };
}

/**
 * Tells whether the token's claim and the activity name the same place; a final slash is the same.
 */
export function isSameServiceUrl(claim: string, body: string): boolean {
  const [left, right] = [readPlace(claim), readPlace(body)];
  return left !== undefined && right !== undefined && left.base === right.base;
}

/** What a `serviceUrl` names. */
interface Place {
  readonly origin: string;
  readonly hostname: string;
  /** Origin and path, without a slash at its end. */
  readonly base: string;
}

/** Places by their texts: the platform has few, and each message names one of them twice. */
const places = new Map<string, Place>();
const PLACES_KEPT = 64;

function readPlace(text: string): Place | undefined {
  const known = places.get(text);
  if (known !== undefined) return known;
  const url = readUrl(text);
  if (url === undefined) return undefined;
  const { origin, hostname, pathname } = url;
  const place = { origin, hostname, base: `${origin}${pathname.replace(/\/$/, "")}` };
  if (places.size >= PLACES_KEPT) places.clear();
  places.set(text, place);
  return place;
}

/** A URL of the plain kind: nothing in it may be read in two ways. */
function readUrl(text: string): URL | undefined {
  // What the parser would mend or fold (spaces, backslashes, non-ASCII names) is refused as it is.
  if (text.length > LENGTH_MAX || !/^https?:\/\/[\x21-\x5b\x5d-\x7e]+$/.test(text)) {
    return undefined;
  }
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const authority = /^https?:\/\/([^/?#]*)/.exec(text)?.[1] ?? "";
  // Any other spelling of a host (octal numbers, a final dot, a user) is not what it seems.
  const port = url.port || (url.protocol === "http:" ? "80" : "443");
  const spelled = authority.toLowerCase();
  if (spelled !== url.host && spelled !== `${url.hostname}:${port}`) return undefined;
  if (url.search !== "" || url.hash !== "" || text.includes("?") || text.includes("#")) {
    return undefined;
  }
  if (/(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(text.slice(text.indexOf("//") + 2))) return undefined;
  return url;
}
