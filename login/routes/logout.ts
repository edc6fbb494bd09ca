/**
 * `/auth/logout` for every driver: ends the session on the server, aborts its open requests and
 * clears the cookie. A request from another site needs confirmation; a prefetch ends nothing.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import { COOKIES } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import { logoutPage } from "login/pages/pages.ts";
import type { LoginDeps, RequestContext } from "login/deps.ts";
import { redirect } from "login/routes/open_session.ts";
import { denyOptions } from "login/routes/deny_options.ts";
import { pageProof } from "login/same_origin.ts";

/** A browser sends at most two: one for the host and one for its parent domain. */
const REFERENCES_MAX = 4;

/** Answers `/auth/logout`. */
export async function handleLogout(context: RequestContext, deps: LoginDeps): Promise<Response> {
  const { request, caller, requestId, isNavigation } = context;
  const { method, headers } = request;
  if (method !== "GET" && method !== "POST") {
    const allow = new Headers({ allow: "GET, POST" });
    return deny(REFUSALS.method(), { requestId, isPage: false, headers: allow });
  }
  const proof = pageProof(headers, caller, deps.publicUrl?.origin);
  const isPart = headers.has("sec-fetch-mode") && !isNavigation && method === "GET";
  const isPrefetch = /prefetch|prerender/i.test(
    headers.get("sec-purpose") ?? headers.get("purpose") ?? "",
  );
  if (method === "GET" && (proof === "foreign" || isPrefetch || isPart)) {
    return isNavigation ? logoutPage() : deny(REFUSALS.crossSite(), { requestId, isPage: false });
  }
  const token = deps.cookies.read(headers.get("cookie"), COOKIES.session);
  const read = token === undefined ? undefined : await deps.sessions.read(token);
  // Refuse a post without proof if it has a valid session: a browser may have sent it.
  if (method === "POST" && (proof === "foreign" || (proof === "none" && read?.ok === true))) {
    deps.log.warning("logout refused", { reason: "cross-site", client: caller.address });
    return deny(REFUSALS.crossSite(), { requestId, isPage: isNavigation });
  }
  const unstored: Refusal[] = [];
  if (read?.ok === true) {
    const ended = await deps.sessions.end(read.value);
    if (!ended.ok) unstored.push(ended.error);
    deps.log.info("logged out", { principal: read.value.principal, client: caller.address });
  }
  const cookies = [deps.cookies.clear(COOKIES.session)];
  const { driver } = deps;
  if (driver.kind === "oidc") {
    // Without a session only the references identify what to end. End all of them.
    const references = deps.cookies.readAll(headers.get("cookie"), COOKIES.refresh);
    for (const reference of references.slice(0, REFERENCES_MAX)) {
      const ended = await deps.reserve.retry(() => driver.refreshes.end(reference));
      if (!ended.ok) unstored.push(ended.error);
    }
    cookies.push(deps.cookies.clear(COOKIES.refresh), deps.cookies.clear(COOKIES.oidcState));
  }
  const [fault] = unstored;
  if (fault !== undefined) return unstoredEnd(fault, cookies, { context, deps });
  // The user is still signed in at the provider; without a page the login would repeat at once.
  return redirect(driver.kind === "oidc" ? "/auth/login?out=1" : "/auth/login", cookies);
}

/** Logs the browser out, and warns that a restart of the server may revive the session. */
export function unstoredEnd(
  fault: Refusal,
  cookies: readonly string[],
  { context, deps }: { readonly context: RequestContext; readonly deps: LoginDeps },
): Response {
  deps.log.error("end of a session not stored", {
    request_id: context.requestId,
    why: fault.message,
  });
  const headers = new Headers(cookies.map((cookie): [string, string] => ["set-cookie", cookie]));
  return deny(REFUSALS.logoutUnstored(), denyOptions(context, headers));
}
