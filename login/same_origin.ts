/**
 * Whether the headers of a request prove that a page of this origin sent it. Browsers send
 * `Sec-Fetch-Site` to secure origins, and `Origin` with all requests but simple reads. Programs
 * send neither. No I/O.
 *
 * @module
 */

import type { HeaderReader } from "core/http1/header_list.ts";
import { isLoopbackName } from "core/net/host_name.ts";
import type { Caller } from "login/caller.ts";

/** What the headers prove: a page of this origin, a page of another origin, or nothing. */
export type PageProof = "own" | "foreign" | "none";

/** Returns the proof; `publicOrigin` is the origin of `WEBVIEW_URL`, if that is set. */
export function pageProof(
  headers: HeaderReader,
  caller: Pick<Caller, "host" | "scheme">,
  publicOrigin: string | undefined,
): PageProof {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin" || site === "none" ? "own" : "foreign";
  const origin = headers.get("origin");
  if (origin === null) return "none";
  return isOwnOrigin(origin, caller, publicOrigin) ? "own" : "foreign";
}

/** Returns whether a browser sent the request, by headers that only browsers send. */
export function isFromBrowser(headers: HeaderReader): boolean {
  return headers.has("sec-fetch-site") || headers.has("sec-fetch-mode");
}

/**
 * Returns whether an `Origin` is this server's. Without `WEBVIEW_URL` the scheme may differ,
 * because a proxy may terminate TLS without a forwarding header. If `WEBVIEW_URL` is https, an
 * http page is accepted only on this machine: an attacker on the network can forge any other.
 */
export function isOwnOrigin(
  origin: string,
  caller: Pick<Caller, "host">,
  publicOrigin: string | undefined,
): boolean {
  if (publicOrigin !== undefined && origin === publicOrigin) return true;
  const { host } = caller;
  if (host === undefined || !/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
  const url = new URL(origin);
  const isForgeable = url.protocol === "http:" && publicOrigin?.startsWith("https:") === true &&
    !isLoopbackName(url.hostname) && !url.hostname.endsWith(".localhost");
  return !isForgeable && url.origin === origin &&
    url.host === new URL(`${url.protocol}//${host}`).host;
}

/** Returns whether a request is a navigation to a page, not a subresource or a program. */
export function isNavigation(method: string, headers: HeaderReader): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  const mode = headers.get("sec-fetch-mode");
  if (mode !== null && mode !== "navigate") return false;
  return (headers.get("accept") ?? "").toLowerCase().includes("text/html");
}
