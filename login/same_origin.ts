/**
 * Whether a request comes from a page of this origin, as far as its headers prove it. Browsers send
 * `Sec-Fetch-Site` to secure origins and `Origin` with everything but plain reads; a program sends
 * neither. No I/O.
 *
 * @module
 */

import { isLoopbackName } from "core/host_name.ts";
import type { HeaderReader } from "core/header_list.ts";
import type { Caller } from "login/caller.ts";

/** What the headers say: our own page, another's, or nothing. */
export type PageProof = "own" | "foreign" | "none";

/** Reads the proof; `publicOrigin` is the origin of `WEBVIEW_URL`, where that is set. */
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

/** Tells whether a browser sent the request, by what only browsers send. */
export function isFromBrowser(headers: HeaderReader): boolean {
  return headers.has("sec-fetch-site") || headers.has("sec-fetch-mode");
}

/**
 * Tells whether an `Origin` is ours. Without `WEBVIEW_URL` the scheme may differ: behind a front that
 * ends TLS without saying so, the page is https and the request http. Where `WEBVIEW_URL` is https, a
 * plain page is ours only on this machine: anybody on the way can write any other one.
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

/** Tells whether a request is a person's: a page that is navigated to, not a part of one. */
export function isNavigation(method: string, headers: HeaderReader): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  const mode = headers.get("sec-fetch-mode");
  if (mode !== null && mode !== "navigate") return false;
  return (headers.get("accept") ?? "").toLowerCase().includes("text/html");
}
