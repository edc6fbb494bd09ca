/**
 * The inline refresh (`wv_refresh_ref`): replaces an expired session without the provider's login
 * page, if the provider confirms the same identity.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits/login.ts";
import { COOKIES } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import type { RefreshOutcome } from "login/oidc/shared_refreshes.ts";
import type { LoginDeps, OidcDriver, RequestContext } from "login/deps.ts";
import { loginPathFor, safeReturnPath } from "login/return_path.ts";
import { acceptedPrincipal } from "login/routes/oidc.ts";
import { redirect } from "login/routes/open_session.ts";
import { denyOptions } from "login/routes/deny_options.ts";

/** Answers a navigation without a session; undefined without a refresh reference. */
export async function tryRefresh(
  context: RequestContext,
  driver: OidcDriver,
  deps: LoginDeps,
): Promise<Response | undefined> {
  const { request, url } = context;
  const reference = deps.cookies.read(request.headers.get("cookie"), COOKIES.refresh);
  if (reference === undefined) return undefined;
  const path = url.pathname + url.search;
  const outcome = await driver.sharedRefreshes.share(
    reference,
    () => refresh(reference, driver, { context, deps }),
  );
  if (outcome.kind === "done") return redirect(safeReturnPath(path), outcome.cookies);
  if (outcome.kind === "away") {
    // Keep the cookies, so that a retry renews the session when the provider answers again.
    const headers = new Headers({ "retry-after": String(LOGIN_LIMITS.retrySeconds) });
    return deny(REFUSALS.refreshAway(), denyOptions(context, headers));
  }
  return redirect(loginPathFor(path), [
    deps.cookies.clear(COOKIES.refresh),
    deps.cookies.clear(COOKIES.session),
  ]);
}

async function refresh(
  reference: string,
  driver: OidcDriver,
  { context, deps }: { readonly context: RequestContext; readonly deps: LoginDeps },
): Promise<RefreshOutcome> {
  const { requestId, caller } = context;
  const kept = await driver.refreshes.open(reference);
  if (kept === undefined) {
    deps.log.warning("refresh refused", { request_id: requestId, reason: "reference" });
    return { kind: "refused" };
  }
  const proven = await driver.provider.refresh(kept.token);
  if (!proven.ok) {
    deps.log.warning("refresh failed", { request_id: requestId, ...proven.error });
    // An unreachable provider has not refused the token.
    if (proven.error.kind === "unreachable") return { kind: "away" };
    await driver.refreshes.end(reference);
    return { kind: "refused" };
  }
  const principal = acceptedPrincipal(proven.value, driver, context, deps);
  if (!principal.ok || principal.value !== kept.principal) {
    deps.log.warning("refresh refused", { request_id: requestId, reason: "other-identity" });
    await driver.refreshes.end(reference);
    return { kind: "refused" };
  }
  const token = proven.value.refreshToken ?? kept.token;
  const opened = await deps.sessions.prepare(kept.principal, {
    client: caller.address,
    agent: context.request.headers.get("user-agent") ?? "",
    family: kept.family,
  });
  // One transaction with the session, so that ending the family always ends both.
  const next = opened.ok
    ? await driver.refreshes.rotate(reference, { ...kept, token }, opened.value.row)
    : opened;
  if (!opened.ok || !next.ok) {
    const why = next.ok ? "" : next.error.message;
    deps.log.error("refresh not stored", { request_id: requestId, why });
    return { kind: "refused" };
  }
  // A logout during the request to the provider ended the family: open no session.
  if (next.value === undefined) {
    deps.log.warning("refresh refused", { request_id: requestId, reason: "ended-meanwhile" });
    return { kind: "refused" };
  }
  deps.log.info("session refreshed", { principal: kept.principal, client: caller.address });
  return {
    kind: "done",
    cookies: [
      deps.cookies.print(COOKIES.session, opened.value.token, opened.value.maxAgeSeconds),
      deps.cookies.print(COOKIES.refresh, next.value),
    ],
  };
}
