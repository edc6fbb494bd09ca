/**
 * The inline refresh (spec "Cookies", `wv_refresh_ref`): a person whose session has run out gets a new
 * one without a stop at the provider's page, if the provider says that they are still who they were.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";
import { COOKIES } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import type { Refreshed } from "login/oidc/refreshing.ts";
import type { Asked, LoginParts, OidcDriver } from "login/parts.ts";
import { loginPathFor, safeReturnPath } from "login/return_path.ts";
import { acceptedPrincipal } from "login/routes/oidc.ts";
import { redirect } from "login/routes/open_session.ts";
import { telling } from "login/routes/telling.ts";

/** Answers a navigation without a session; undefined when there is nothing to refresh by. */
export async function refreshed(
  asked: Asked,
  driver: OidcDriver,
  parts: LoginParts,
): Promise<Response | undefined> {
  const { request, url } = asked;
  const reference = parts.cookies.read(request.headers.get("cookie"), COOKIES.refresh);
  if (reference === undefined) return undefined;
  const path = url.pathname + url.search;
  const outcome = await driver.refreshing.share(
    reference,
    () => refresh(reference, driver, { asked, parts }),
  );
  if (outcome.kind === "done") return redirect(safeReturnPath(path), outcome.cookies);
  if (outcome.kind === "away") {
    // Its cookies stay, so that the same request renews the session once the provider answers.
    const headers = new Headers({ "retry-after": String(LOGIN_LIMITS.retrySeconds) });
    return deny(REFUSALS.refreshAway(), telling(asked, headers));
  }
  return redirect(loginPathFor(path), [
    parts.cookies.clear(COOKIES.refresh),
    parts.cookies.clear(COOKIES.session),
  ]);
}

async function refresh(
  reference: string,
  driver: OidcDriver,
  { asked, parts }: { readonly asked: Asked; readonly parts: LoginParts },
): Promise<Refreshed> {
  const { requestId, caller } = asked;
  const kept = await driver.refreshes.open(reference);
  if (kept === undefined) {
    parts.log.warning("refresh refused", { request_id: requestId, reason: "reference" });
    return { kind: "refused" };
  }
  const proven = await driver.provider.refresh(kept.token);
  if (!proven.ok) {
    parts.log.warning("refresh failed", { request_id: requestId, ...proven.error });
    // A provider that cannot answer has refused nothing.
    if (proven.error.kind === "unreachable") return { kind: "away" };
    await driver.refreshes.end(reference);
    return { kind: "refused" };
  }
  const principal = acceptedPrincipal(proven.value, driver, asked, parts);
  if (!principal.ok || principal.value !== kept.principal) {
    parts.log.warning("refresh refused", { request_id: requestId, reason: "other-identity" });
    await driver.refreshes.end(reference);
    return { kind: "refused" };
  }
  const token = proven.value.refreshToken ?? kept.token;
  const opened = await parts.sessions.make(kept.principal, {
    client: caller.address,
    agent: asked.request.headers.get("user-agent") ?? "",
    family: kept.family,
  });
  // In one write with the session: whatever ends the family, before or after, ends both.
  const next = opened.ok
    ? await driver.refreshes.rotate(reference, { ...kept, token }, opened.value.row)
    : opened;
  if (!opened.ok || !next.ok) {
    const why = next.ok ? "" : next.error.message;
    parts.log.error("refresh not stored", { request_id: requestId, why });
    return { kind: "refused" };
  }
  // A logout while the provider was asked has ended it: no session may come after that.
  if (next.value === undefined) {
    parts.log.warning("refresh refused", { request_id: requestId, reason: "ended-meanwhile" });
    return { kind: "refused" };
  }
  parts.log.info("session refreshed", { principal: kept.principal, client: caller.address });
  return {
    kind: "done",
    cookies: [
      parts.cookies.print(COOKIES.session, opened.value.token, opened.value.maxAgeSeconds),
      parts.cookies.print(COOKIES.refresh, next.value),
    ],
  };
}
