/**
 * `/auth/logout`: ends the session on the server, cuts what is open for it and clears the cookie,
 * for every driver (spec "Login proxy routes", decision 19). What another site sends here is asked
 * about first; prefetching ends nothing.
 *
 * @module
 */

import { printCookie, readCookie, SESSION_COOKIE } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import { logoutPage } from "login/pages/pages.ts";
import type { Asked, LoginParts } from "login/parts.ts";
import { pageProof } from "login/same_origin.ts";

/** Returns the header that takes the session cookie away. */
export function clearedSession(): string {
  return printCookie(SESSION_COOKIE, "", { path: "/", maxAgeSeconds: 0 });
}

/** Answers `/auth/logout`. */
export async function handleLogout(asked: Asked, parts: LoginParts): Promise<Response> {
  const { request, caller, requestId, isNavigation } = asked;
  const { method, headers } = request;
  if (method !== "GET" && method !== "POST") {
    const allow = new Headers({ allow: "GET, POST" });
    return deny(REFUSALS.method(), { requestId, isPage: false, headers: allow });
  }
  const proof = pageProof(headers, caller, parts.publicUrl?.origin);
  const isPart = headers.has("sec-fetch-mode") && !isNavigation && method === "GET";
  const isPrefetch = /prefetch|prerender/i.test(
    headers.get("sec-purpose") ?? headers.get("purpose") ?? "",
  );
  if (method === "GET" && (proof === "foreign" || isPrefetch || isPart)) {
    return isNavigation ? logoutPage() : deny(REFUSALS.crossSite(), { requestId, isPage: false });
  }
  const token = readCookie(headers.get("cookie"), SESSION_COOKIE);
  const read = token === undefined ? undefined : await parts.sessions.read(token);
  // A post without any proof ends a session only where no browser can have sent it: without one.
  if (method === "POST" && (proof === "foreign" || (proof === "none" && read?.ok === true))) {
    parts.log.warning("logout refused", { reason: "cross-site", client: caller.address });
    return deny(REFUSALS.crossSite(), { requestId, isPage: isNavigation });
  }
  if (read?.ok === true) {
    const ended = parts.sessions.end(read.value);
    if (!ended.ok) {
      parts.log.error("session not ended", { why: ended.error.message });
      return deny(ended.error, { requestId, isPage: isNavigation });
    }
    parts.log.info("logged out", { principal: read.value.principal, client: caller.address });
  }
  return new Response(null, {
    status: 303,
    headers: {
      location: "/auth/login",
      "set-cookie": clearedSession(),
      "cache-control": "no-store",
    },
  });
}
