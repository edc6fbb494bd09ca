/**
 * Checks the `serviceUrl` that an answer is sent to. Pure. Answers carry a bearer token, so the
 * whole origin must be in a fixed list: no suffixes, no redirects, no IP addresses (Bot Connector
 * authentication, rule 7, and the setting `service_hosts`).
 *
 * @module
 */

import { isLoopbackName } from "core/net/host_name.ts";

/** Longest accepted `serviceUrl`. */
const LENGTH_MAX = 512;

/** The rules for a `serviceUrl`. */
export type ServiceHosts =
  | { readonly mode: "cloud"; readonly origins: ReadonlySet<string> }
  /** Local test mode: plain http to this machine only. */
  | { readonly mode: "local" };

/** Why a `serviceUrl` is refused; for the log. */
export type ServiceUrlFault = "service-url-unreadable" | "service-url-foreign";

/** Returns the base URL for answers, without a trailing slash, or the reason for a refusal. */
export function checkServiceUrl(
  text: string,
  hosts: ServiceHosts,
): { readonly ok: true; readonly base: string } | { readonly ok: false; why: ServiceUrlFault } {
  const parsed = parseServiceUrl(text);
  if (parsed === undefined) return { ok: false, why: "service-url-unreadable" };
  const isAllowed = hosts.mode === "cloud"
    ? hosts.origins.has(parsed.origin)
    : isLoopbackName(parsed.hostname);
  return isAllowed ? { ok: true, base: parsed.base } : { ok: false, why: "service-url-foreign" };
}

/** Tells whether the token's claim and the activity name the same URL; ignores a trailing slash. */
export function isSameServiceUrl(claim: string, body: string): boolean {
  const [left, right] = [parseServiceUrl(claim), parseServiceUrl(body)];
  return left !== undefined && right !== undefined && left.base === right.base;
}

/** A parsed `serviceUrl`. */
interface ParsedServiceUrl {
  readonly origin: string;
  readonly hostname: string;
  /** Origin and path, without a trailing slash. */
  readonly base: string;
}

/**
 * Cache of parsed URLs by text: the platform has few, and each message contains one of them twice.
 */
const parsedUrls = new Map<string, ParsedServiceUrl>();
const PARSED_KEPT = 64;

function parseServiceUrl(text: string): ParsedServiceUrl | undefined {
  const known = parsedUrls.get(text);
  if (known !== undefined) return known;
  const url = readUrl(text);
  if (url === undefined) return undefined;
  const { origin, hostname, pathname } = url;
  const parsed = { origin, hostname, base: `${origin}${pathname.replace(/\/$/, "")}` };
  if (parsedUrls.size >= PARSED_KEPT) parsedUrls.clear();
  parsedUrls.set(text, parsed);
  return parsed;
}

/** Parses a URL that has only one interpretation; undefined for any other text. */
function readUrl(text: string): URL | undefined {
  // Refuse what the URL parser would repair or normalize: spaces, backslashes, non-ASCII names.
  if (text.length > LENGTH_MAX || !/^https?:\/\/[\x21-\x5b\x5d-\x7e]+$/.test(text)) {
    return undefined;
  }
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const authority = /^https?:\/\/([^/?#]*)/.exec(text)?.[1] ?? "";
  // Refuse any other spelling of the host (octal numbers, a trailing dot, a user): it can deceive.
  const port = url.port || (url.protocol === "http:" ? "80" : "443");
  const spelled = authority.toLowerCase();
  if (spelled !== url.host && spelled !== `${url.hostname}:${port}`) return undefined;
  if (url.search !== "" || url.hash !== "" || text.includes("?") || text.includes("#")) {
    return undefined;
  }
  if (/(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(text.slice(text.indexOf("//") + 2))) return undefined;
  return url;
}
