/**
 * `/auth/logout`: ends the session on the server, cuts what is open for it and clears the cookie,
 * for every driver (spec "Login proxy routes", decision 19). What another site sends here is asked
 * about first; prefetching ends nothing.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import { COOKIES } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import { logoutPage } from "login/pages/pages.ts";
import type { Asked, LoginParts } from "login/parts.ts";
import { redirect } from "login/routes/open_session.ts";
import { telling } from "login/routes/telling.ts";
import { pageProof } from "login/same_origin.ts";

/** A browser sends two at most: one for the host and one for its parent domain. */
const REFERENCES_MAX = 4;

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
  const token = parts.cookies.read(headers.get("cookie"), COOKIES.session);
  const read = token === undefined ? undefined : await parts.sessions.read(token);
  // A post without any proof ends a session only where no browser can have sent it: without one.
  if (method === "POST" && (proof === "foreign" || (proof === "none" && read?.ok === true))) {
    parts.log.warning("logout refused", { reason: "cross-site", client: caller.address });
    return deny(REFUSALS.crossSite(), { requestId, isPage: isNavigation });
  }
  const unstored: Refusal[] = [];
  if (read?.ok === true) {
    const ended = await parts.sessions.end(read.value);
    if (!ended.ok) unstored.push(ended.error);
    parts.log.info("logged out", { principal: read.value.principal, client: caller.address });
  }
  const cookies = [parts.cookies.clear(COOKIES.session)];
  const { driver } = parts;
  if (driver.kind === "oidc") {
    // Without a session only the references say what to end; several of them are all ended.
    const references = parts.cookies.readAll(headers.get("cookie"), COOKIES.refresh);
    for (const reference of references.slice(0, REFERENCES_MAX)) {
      const ended = await parts.reserve.retry(() => driver.refreshes.end(reference));
      if (!ended.ok) unstored.push(ended.error);
    }
    cookies.push(parts.cookies.clear(COOKIES.refresh), parts.cookies.clear(COOKIES.oidcState));
  }
  const [fault] = unstored;
  if (fault !== undefined) return unstoredEnd(fault, cookies, { asked, parts });
  // At the provider somebody is still signed in: without a stop they would be back at once.
  return redirect(driver.kind === "oidc" ? "/auth/login?out=1" : "/auth/login", cookies);
}

/** The browser is logged out all the same, and learns that a restart may undo it on the server. */
export function unstoredEnd(
  fault: Refusal,
  cookies: readonly string[],
  { asked, parts }: { readonly asked: Asked; readonly parts: LoginParts },
): Response {
  parts.log.error("end of a session not stored", {
    request_id: asked.requestId,
    why: fault.message,
  });
  const headers = new Headers(cookies.map((cookie): [string, string] => ["set-cookie", cookie]));
  return deny(REFUSALS.logoutUnstored(), telling(asked, headers));
}
