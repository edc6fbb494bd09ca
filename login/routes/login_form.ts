/**
 * `/auth/login` of the basic driver: the form, its post, and the challenge for scripts (spec "Login
 * proxy routes"). A post needs a token of a form of this browser and a page of this origin before
 * anything is looked at.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";
import { authenticate } from "login/authenticate.ts";
import { BASIC_CHALLENGE, SESSION_CHALLENGE } from "login/challenges.ts";
import { BUSY } from "login/basic/passwords.ts";
import { canonicalName } from "core/basic_users.ts";
import { COOKIES } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import { type LoginForm, loginPage } from "login/pages/pages.ts";
import type { Asked, BasicDriver, LoginParts } from "login/parts.ts";
import { readBounded } from "login/proxy/body.ts";
import { safeReturnPath } from "login/return_path.ts";
import { openSession, redirect } from "login/routes/open_session.ts";
import { busy, telling, tooMany } from "login/routes/telling.ts";
import { pageProof } from "login/same_origin.ts";
import { refuseInsecureOrigin } from "login/secure_origin.ts";

const FORM_TYPE = "application/x-www-form-urlencoded";
const WRONG = "The e-mail address or the password is wrong.";
const WAIT = "Many people are logging in just now. Please try again in a few seconds.";
const STALE = "This form was too old, or from another window. Please try again.";

/** Answers `/auth/login`. */
export async function handleForm(
  asked: Asked,
  driver: BasicDriver,
  parts: LoginParts,
): Promise<Response> {
  const { request } = asked;
  switch (request.method) {
    case "GET":
    case "HEAD":
      return await showLogin(asked, driver, parts);
    case "POST":
      return await takeLogin(asked, driver, parts);
    default: {
      const headers = new Headers({ allow: "GET, HEAD, POST" });
      return deny(REFUSALS.method(), telling(asked, headers));
    }
  }
}

async function showLogin(
  asked: Asked,
  driver: BasicDriver,
  parts: LoginParts,
): Promise<Response> {
  const { request, url, caller } = asked;
  const next = safeReturnPath(url.searchParams.get("next"));
  const login = await authenticate(request.headers, caller, parts);
  if (login.kind === "limited") return tooMany(asked, login.retryAfterSeconds);
  if (login.kind === "busy") return busy(asked);
  if (login.kind === "session") return redirect(next);
  if (login.kind === "basic") {
    return await openSession({ principal: login.principal, next, cookies: [] }, asked, parts);
  }
  if (!asked.isNavigation) {
    const headers = new Headers({ "www-authenticate": BASIC_CHALLENGE });
    return deny(REFUSALS.login(), { requestId: asked.requestId, isPage: false, headers });
  }
  return refuseInsecureOrigin(asked, parts) ?? await formPage({ next }, 200, { driver, parts });
}

async function takeLogin(
  asked: Asked,
  driver: BasicDriver,
  parts: LoginParts,
): Promise<Response> {
  const { request, caller } = asked;
  const { headers } = request;
  const insecure = refuseInsecureOrigin(asked, parts);
  if (insecure !== undefined && insecure.status !== 307) return insecure;
  if (pageProof(headers, caller, parts.publicUrl?.origin) !== "own") {
    parts.log.warning("login refused", { reason: "cross-site", client: caller.address });
    return deny(REFUSALS.crossSite(), telling(asked));
  }
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (type !== FORM_TYPE) return deny(REFUSALS.form(), telling(asked));
  const text = await readBounded(request.body, LOGIN_LIMITS.formBytesMax);
  if (!text.ok) {
    const isLong = text.error === "too-large";
    const fault = isLong ? REFUSALS.body(LOGIN_LIMITS.formBytesMax) : REFUSALS.bodyMalformed();
    return deny(fault, telling(asked));
  }
  const fields = new URLSearchParams(text.value);
  const next = safeReturnPath(one(fields, "next"));
  const name = one(fields, "user") ?? "";
  const fault = await driver.forms.redeem(
    parts.cookies.read(headers.get("cookie"), COOKIES.form),
    one(fields, "csrf"),
  );
  if (fault !== undefined) {
    parts.log.warning("login refused", { reason: `form-${fault}`, client: caller.address });
    return await formPage({ next, name, error: STALE }, 403, { driver, parts });
  }
  const attempt = driver.attempts.begin(caller.keys, canonicalName(name));
  if ("retryAfterSeconds" in attempt) return tooMany(asked, attempt.retryAfterSeconds);
  const principal = await driver.passwords.check(name, one(fields, "password") ?? "");
  if (principal === BUSY) {
    attempt.withdraw();
    const form = { next, name: canonicalName(name), error: WAIT };
    return await formPage(form, 503, { driver, parts });
  }
  if (principal === undefined) {
    parts.log.warning("login failed", { way: "form", client: caller.address });
    return await formPage({ next, name: canonicalName(name), error: WRONG }, 401, {
      driver,
      parts,
    });
  }
  attempt.forgive();
  const cookies = [parts.cookies.clear(COOKIES.form)];
  return await openSession({ principal, next, cookies }, asked, parts);
}

async function formPage(
  form: Omit<LoginForm, "token">,
  status: number,
  { driver, parts }: { readonly driver: BasicDriver; readonly parts: LoginParts },
): Promise<Response> {
  const token = await driver.forms.issue();
  const headers = new Headers();
  headers.append("set-cookie", parts.cookies.print(COOKIES.form, token));
  if (status === 401) headers.set("www-authenticate", SESSION_CHALLENGE);
  if (status === 503) headers.set("retry-after", String(LOGIN_LIMITS.retrySeconds));
  return loginPage({ ...form, token }, { status, headers });
}

/** A field that is there exactly once. */
function one(fields: URLSearchParams, name: string): string | undefined {
  const values = fields.getAll(name);
  return values.length === 1 ? values[0] : undefined;
}
