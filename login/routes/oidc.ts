/**
 * `/auth/login` and `/auth/callback` of the oidc driver (spec "Login drivers"): to the provider and back.
 * A sign-in is good once and for the browser that began it, whatever comes of it. Nothing that the
 * provider or an address says is shown.
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
import type { Proven, ProviderFault } from "login/oidc/provider.ts";
import { signedOutPage } from "login/pages/pages.ts";
import type { Asked, LoginParts, OidcDriver } from "login/parts.ts";
import { safeReturnPath } from "login/return_path.ts";
import { openSession, redirect } from "login/routes/open_session.ts";
import { telling } from "login/routes/telling.ts";
import { refuseInsecureOrigin } from "login/secure_origin.ts";

/** Parameters of an answer that mean something; each of them may be there once. */
const ANSWER_PARAMETERS = ["code", "state", "iss", "error", "response", "id_token", "access_token"];
const ANSWER_LENGTH_MAX = 8_192;

/** Answers `/auth/login`: leads to the provider. */
export async function handleSignIn(
  asked: Asked,
  driver: OidcDriver,
  parts: LoginParts,
): Promise<Response> {
  const { request, url, caller } = asked;
  if (request.method !== "GET" && request.method !== "HEAD") {
    return deny(REFUSALS.method(), telling(asked, new Headers({ allow: "GET, HEAD" })));
  }
  const next = safeReturnPath(url.searchParams.get("next"));
  const login = await authenticate(request.headers, caller, parts);
  if (login.kind === "session") return redirect(next);
  if (!asked.isNavigation || isPrefetch(asked)) {
    const headers = new Headers({ "www-authenticate": SESSION_CHALLENGE });
    return deny(REFUSALS.login(), { requestId: asked.requestId, isPage: false, headers });
  }
  const insecure = refuseInsecureOrigin(asked, parts);
  if (insecure !== undefined) return insecure;
  if (url.searchParams.has("out")) return signedOutPage();
  const cookie = parts.cookies.read(request.headers.get("cookie"), COOKIES.oidcState);
  const begun = await driver.flows.begin({ cookie, client: caller.keys[0] ?? "", next });
  const address = await driver.provider.address(begun.flow);
  if (!address.ok) return failed(address.error, asked, parts);
  const answer = redirect(address.value.href, [
    parts.cookies.print(COOKIES.oidcState, begun.cookie),
  ]);
  answer.headers.set("referrer-policy", "no-referrer");
  return answer;
}

/** Answers `/auth/callback`. */
export async function handleCallback(
  asked: Asked,
  driver: OidcDriver,
  parts: LoginParts,
): Promise<Response> {
  const { request, requestId, caller } = asked;
  if (request.method !== "GET") {
    return deny(REFUSALS.method(), telling(asked, new Headers({ allow: "GET" })));
  }
  const taken = await takeFlow(asked, driver, parts);
  if (!taken.ok) {
    parts.log.warning("sign-in refused", {
      request_id: requestId,
      reason: taken.error,
      client: caller.address,
    });
    return deny(REFUSALS.signInStale(), telling(asked));
  }
  const { flow, answer } = taken.value;
  const proven = await driver.provider.redeem(answer, flow);
  if (!proven.ok) return failed(proven.error, asked, parts);
  const principal = acceptedPrincipal(proven.value, driver, asked, parts);
  if (!principal.ok) return principal.error;
  const cookies: string[] = [];
  let family = "";
  const { refreshToken } = proven.value;
  if (refreshToken !== undefined) {
    const of = { principal: principal.value, token: refreshToken };
    const added = await driver.refreshes.add(of);
    // Without one the next login is by the provider again, and nothing is lost.
    if (added.ok) {
      cookies.push(parts.cookies.print(COOKIES.refresh, added.value.reference));
      family = added.value.family;
    } else parts.log.error("refresh not stored", { why: added.error.message });
  }
  return await openSession(
    { principal: principal.value, next: flow.next, cookies, family },
    asked,
    parts,
  );
}

/** Finds the sign-in of an answer, and uses it up. The reason is for the log. */
async function takeFlow(
  { request, url }: Asked,
  driver: OidcDriver,
  parts: LoginParts,
): Promise<Result<{ readonly flow: Flow; readonly answer: URLSearchParams }, string>> {
  const { headers } = request;
  const answer = url.searchParams;
  if (url.search.length > ANSWER_LENGTH_MAX) return err("too-long");
  const isTwice = ANSWER_PARAMETERS.some((name) => answer.getAll(name).length > 1);
  if (isTwice) return err("parameter-twice");
  // The provider leads a person here; no page, image or script of anybody does.
  const mode = headers.get("sec-fetch-mode");
  const target = headers.get("sec-fetch-dest");
  if ((mode !== null && mode !== "navigate") || (target !== null && target !== "document")) {
    return err("no-navigation");
  }
  const cookie = parts.cookies.read(headers.get("cookie"), COOKIES.oidcState);
  if (cookie === undefined) return err("cookie-absent");
  const flow = await driver.flows.take(cookie, answer.get("state") ?? "");
  return flow === undefined ? err("state") : ok({ flow, answer });
}

/** Judges who somebody is, and that the address belongs to them (decision 21). */
export function acceptedPrincipal(
  proven: Proven,
  driver: OidcDriver,
  asked: Asked,
  parts: LoginParts,
): Result<string, Response> {
  const refused = (reason: string, more: Readonly<Record<string, string>> = {}) => {
    parts.log.warning("sign-in refused", {
      request_id: asked.requestId,
      reason,
      issuer: proven.issuer,
      subject: proven.subject,
      ...more,
    });
    return err(deny(REFUSALS.signInFailed(), telling(asked)));
  };
  const principal = principalOf(proven.claims, driver.rules);
  if (!principal.ok) return refused(principal.error);
  const { issuer, subject } = proven;
  const pin = driver.pins.add({
    address: principal.value,
    issuer,
    subject,
    created: parts.clock.now(),
  });
  if (!pin.ok) {
    parts.log.error("pin not stored", { why: pin.error.message });
    return err(deny(pin.error, telling(asked)));
  }
  if (pin.value.issuer !== issuer || pin.value.subject !== subject) {
    return refused("other-subject", {
      address: principal.value,
      hint: `fleetctl webview-login pins clear ${principal.value}`,
    });
  }
  return ok(principal.value);
}

function failed(fault: ProviderFault, asked: Asked, parts: LoginParts): Response {
  parts.log.warning("sign-in failed", {
    request_id: asked.requestId,
    kind: fault.kind,
    why: fault.why,
    client: asked.caller.address,
  });
  const isAway = fault.kind === "unreachable";
  return deny(isAway ? REFUSALS.provider() : REFUSALS.signInFailed(), telling(asked));
}

function isPrefetch({ request: { headers } }: Asked): boolean {
  return /prefetch|prerender/i.test(headers.get("sec-purpose") ?? headers.get("purpose") ?? "");
}
