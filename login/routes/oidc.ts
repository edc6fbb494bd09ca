/**
 * `/auth/login` and `/auth/callback` of the oidc driver: to the provider and back. A sign-in is
 * valid once, and only for the browser that started it. Text of the provider or the URL is never
 * shown.
 *
 * @module
 */

import { err, ok, type Result } from "core/result.ts";
import { authenticate } from "login/authenticate.ts";
import { SESSION_CHALLENGE } from "login/challenges.ts";
import { COOKIES } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import type { Flow } from "login/oidc/flows.ts";
import { principalOf } from "login/oidc/principal.ts";
import type { ProviderFault, VerifiedIdentity } from "login/oidc/provider.ts";
import { signedOutPage } from "login/pages/pages.ts";
import type { LoginDeps, OidcDriver, RequestContext } from "login/deps.ts";
import { safeReturnPath } from "login/return_path.ts";
import { openSession, redirect } from "login/routes/open_session.ts";
import { denyOptions } from "login/routes/deny_options.ts";
import { refuseInsecureOrigin } from "login/secure_origin.ts";

/** Known parameters of an authorization response; each may occur once. */
const ANSWER_PARAMETERS = ["code", "state", "iss", "error", "response", "id_token", "access_token"];
const ANSWER_LENGTH_MAX = 8_192;

/** Answers `/auth/login`: redirects to the provider. */
export async function handleSignIn(
  context: RequestContext,
  driver: OidcDriver,
  deps: LoginDeps,
): Promise<Response> {
  const { request, url, caller } = context;
  if (request.method !== "GET" && request.method !== "HEAD") {
    return deny(REFUSALS.method(), denyOptions(context, new Headers({ allow: "GET, HEAD" })));
  }
  const next = safeReturnPath(url.searchParams.get("next"));
  const login = await authenticate(request.headers, caller, deps);
  if (login.kind === "session") return redirect(next);
  if (!context.isNavigation || isPrefetch(context)) {
    const headers = new Headers({ "www-authenticate": SESSION_CHALLENGE });
    return deny(REFUSALS.login(), { requestId: context.requestId, isPage: false, headers });
  }
  const insecure = refuseInsecureOrigin(context, deps);
  if (insecure !== undefined) return insecure;
  if (url.searchParams.has("out")) return signedOutPage();
  const cookie = deps.cookies.read(request.headers.get("cookie"), COOKIES.oidcState);
  const begun = await driver.flows.begin({ cookie, client: caller.keys[0] ?? "", next });
  const address = await driver.provider.authorizationUrl(begun.flow);
  if (!address.ok) return failed(address.error, context, deps);
  const answer = redirect(address.value.href, [
    deps.cookies.print(COOKIES.oidcState, begun.cookie),
  ]);
  answer.headers.set("referrer-policy", "no-referrer");
  return answer;
}

/** Answers `/auth/callback`. */
export async function handleCallback(
  context: RequestContext,
  driver: OidcDriver,
  deps: LoginDeps,
): Promise<Response> {
  const { request, requestId, caller } = context;
  if (request.method !== "GET") {
    return deny(REFUSALS.method(), denyOptions(context, new Headers({ allow: "GET" })));
  }
  const callback = await takeFlow(context, driver, deps);
  if (!callback.ok) {
    deps.log.warning("sign-in refused", {
      request_id: requestId,
      reason: callback.error,
      client: caller.address,
    });
    return deny(REFUSALS.signInStale(), denyOptions(context));
  }
  const { flow, answer } = callback.value;
  const proven = await driver.provider.redeem(answer, flow);
  if (!proven.ok) return failed(proven.error, context, deps);
  const principal = acceptedPrincipal(proven.value, driver, context, deps);
  if (!principal.ok) return principal.error;
  const cookies: string[] = [];
  let family = "";
  const { refreshToken } = proven.value;
  if (refreshToken !== undefined) {
    const of = { principal: principal.value, token: refreshToken };
    const added = await driver.refreshes.add(of);
    // Without a reference the next login goes to the provider again.
    if (added.ok) {
      cookies.push(deps.cookies.print(COOKIES.refresh, added.value.reference));
      family = added.value.family;
    } else deps.log.error("refresh not stored", { why: added.error.message });
  }
  return await openSession(
    { principal: principal.value, next: flow.next, cookies, family },
    context,
    deps,
  );
}

/**
 * Finds and consumes the pending sign-in that an authorization response belongs to. The error is
 * for the log.
 */
async function takeFlow(
  { request, url }: RequestContext,
  driver: OidcDriver,
  deps: LoginDeps,
): Promise<Result<{ readonly flow: Flow; readonly answer: URLSearchParams }, string>> {
  const { headers } = request;
  const answer = url.searchParams;
  if (url.search.length > ANSWER_LENGTH_MAX) return err("too-long");
  const isTwice = ANSWER_PARAMETERS.some((name) => answer.getAll(name).length > 1);
  if (isTwice) return err("parameter-twice");
  // The provider redirects a navigation here; refuse requests of frames, images and scripts.
  const mode = headers.get("sec-fetch-mode");
  const target = headers.get("sec-fetch-dest");
  if ((mode !== null && mode !== "navigate") || (target !== null && target !== "document")) {
    return err("no-navigation");
  }
  const cookie = deps.cookies.read(headers.get("cookie"), COOKIES.oidcState);
  if (cookie === undefined) return err("cookie-absent");
  const flow = await driver.flows.take(cookie, answer.get("state") ?? "");
  return flow === undefined ? err("state") : ok({ flow, answer });
}

/**
 * Derives the principal. Pins its address at the first sign-in; later refuses another identity with
 * the same address.
 */
export function acceptedPrincipal(
  proven: VerifiedIdentity,
  driver: OidcDriver,
  context: RequestContext,
  deps: LoginDeps,
): Result<string, Response> {
  const refused = (reason: string, more: Readonly<Record<string, string>> = {}) => {
    deps.log.warning("sign-in refused", {
      request_id: context.requestId,
      reason,
      issuer: proven.issuer,
      subject: proven.subject,
      ...more,
    });
    return err(deny(REFUSALS.signInFailed(), denyOptions(context)));
  };
  const principal = principalOf(proven.claims, driver.rules);
  if (!principal.ok) return refused(principal.error);
  const { issuer, subject } = proven;
  const pin = driver.pins.add({
    address: principal.value,
    issuer,
    subject,
    created: deps.clock.now(),
  });
  if (!pin.ok) {
    deps.log.error("pin not stored", { why: pin.error.message });
    return err(deny(pin.error, denyOptions(context)));
  }
  if (pin.value.issuer !== issuer || pin.value.subject !== subject) {
    return refused("other-subject", {
      address: principal.value,
      hint: `fleetctl webview-login pins clear ${principal.value}`,
    });
  }
  return ok(principal.value);
}

function failed(fault: ProviderFault, context: RequestContext, deps: LoginDeps): Response {
  deps.log.warning("sign-in failed", {
    request_id: context.requestId,
    kind: fault.kind,
    why: fault.why,
    client: context.caller.address,
  });
  const isAway = fault.kind === "unreachable";
  return deny(isAway ? REFUSALS.provider() : REFUSALS.signInFailed(), denyOptions(context));
}

function isPrefetch({ request: { headers } }: RequestContext): boolean {
  return /prefetch|prerender/i.test(headers.get("sec-purpose") ?? headers.get("purpose") ?? "");
}
