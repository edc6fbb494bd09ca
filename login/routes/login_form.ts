/**
 * `/auth/login` of the basic driver: the form, its post, and the challenge for scripts. A post must
 * come from a page of this origin and contain this browser's form token, else nothing is checked.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits/login.ts";
import { authenticate } from "login/authenticate.ts";
import { BASIC_CHALLENGE, SESSION_CHALLENGE } from "login/challenges.ts";
import { BUSY } from "login/basic/passwords.ts";
import { canonicalName } from "core/login/basic_users.ts";
import { COOKIES } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import { type LoginForm, loginPage } from "login/pages/pages.ts";
import type { BasicDriver, LoginDeps, RequestContext } from "login/deps.ts";
import { readForm } from "login/proxy/body.ts";
import { safeReturnPath } from "login/return_path.ts";
import { openSession, redirect } from "login/routes/open_session.ts";
import { denyBusy, denyOptions, denyTooMany } from "login/routes/deny_options.ts";
import { pageProof } from "login/same_origin.ts";
import { refuseInsecureOrigin } from "login/secure_origin.ts";

const FORM_TYPE = "application/x-www-form-urlencoded";
const WRONG = "The e-mail address or the password is wrong.";
const WAIT = "Many users are logging in right now. Please try again in a few seconds.";
const STALE = "This form has expired or is from another window. Please try again.";

/** Answers `/auth/login`. */
export async function handleForm(
  context: RequestContext,
  driver: BasicDriver,
  deps: LoginDeps,
): Promise<Response> {
  const { request } = context;
  switch (request.method) {
    case "GET":
    case "HEAD":
      return await showLogin(context, driver, deps);
    case "POST":
      return await takeLogin(context, driver, deps);
    default: {
      const headers = new Headers({ allow: "GET, HEAD, POST" });
      return deny(REFUSALS.method(), denyOptions(context, headers));
    }
  }
}

async function showLogin(
  context: RequestContext,
  driver: BasicDriver,
  deps: LoginDeps,
): Promise<Response> {
  const { request, url, caller } = context;
  const next = safeReturnPath(url.searchParams.get("next"));
  const login = await authenticate(request.headers, caller, deps);
  if (login.kind === "limited") return denyTooMany(context, login.retryAfterSeconds);
  if (login.kind === "busy") return denyBusy(context);
  if (login.kind === "session") return redirect(next);
  if (login.kind === "basic") {
    return await openSession({ principal: login.principal, next, cookies: [] }, context, deps);
  }
  if (!context.isNavigation) {
    const headers = new Headers({ "www-authenticate": BASIC_CHALLENGE });
    return deny(REFUSALS.login(), { requestId: context.requestId, isPage: false, headers });
  }
  return refuseInsecureOrigin(context, deps) ?? await formPage({ next }, 200, { driver, deps });
}

async function takeLogin(
  context: RequestContext,
  driver: BasicDriver,
  deps: LoginDeps,
): Promise<Response> {
  const { request, caller } = context;
  const { headers } = request;
  const insecure = refuseInsecureOrigin(context, deps);
  if (insecure !== undefined && insecure.status !== 307) return insecure;
  if (pageProof(headers, caller, deps.publicUrl?.origin) !== "own") {
    deps.log.warning("login refused", { reason: "cross-site", client: caller.address });
    return deny(REFUSALS.crossSite(), denyOptions(context));
  }
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (type !== FORM_TYPE) return deny(REFUSALS.form(), denyOptions(context));
  const text = await readForm(request.body);
  if (!text.ok) {
    const isLong = text.error === "too-large";
    const fault = isLong ? REFUSALS.body(LOGIN_LIMITS.formBytesMax) : REFUSALS.bodyMalformed();
    return deny(fault, denyOptions(context));
  }
  const fields = new URLSearchParams(text.value);
  const next = safeReturnPath(one(fields, "next"));
  const name = one(fields, "user") ?? "";
  const fault = await driver.forms.redeem(
    deps.cookies.read(headers.get("cookie"), COOKIES.form),
    one(fields, "csrf"),
  );
  if (fault !== undefined) {
    deps.log.warning("login refused", { reason: `form-${fault}`, client: caller.address });
    return await formPage({ next, name, error: STALE }, 403, { driver, deps });
  }
  const attempt = driver.attempts.begin(caller.keys, canonicalName(name));
  if ("retryAfterSeconds" in attempt) return denyTooMany(context, attempt.retryAfterSeconds);
  const principal = await driver.passwords.check(name, one(fields, "password") ?? "");
  if (principal === BUSY) {
    attempt.withdraw();
    const form = { next, name: canonicalName(name), error: WAIT };
    return await formPage(form, 503, { driver, deps });
  }
  if (principal === undefined) {
    deps.log.warning("login failed", { way: "form", client: caller.address });
    return await formPage({ next, name: canonicalName(name), error: WRONG }, 401, {
      driver,
      deps,
    });
  }
  attempt.forgive();
  const cookies = [deps.cookies.clear(COOKIES.form)];
  return await openSession({ principal, next, cookies }, context, deps);
}

async function formPage(
  form: Omit<LoginForm, "token">,
  status: number,
  { driver, deps }: { readonly driver: BasicDriver; readonly deps: LoginDeps },
): Promise<Response> {
  const token = await driver.forms.issue();
  const headers = new Headers();
  headers.append("set-cookie", deps.cookies.print(COOKIES.form, token));
  if (status === 401) headers.set("www-authenticate", SESSION_CHALLENGE);
  if (status === 503) headers.set("retry-after", String(LOGIN_LIMITS.retrySeconds));
  return loginPage({ ...form, token }, { status, headers });
}

/** Returns the value of a field; undefined unless it occurs exactly once. */
function one(fields: URLSearchParams, name: string): string | undefined {
  const values = fields.getAll(name);
  return values.length === 1 ? values[0] : undefined;
}
