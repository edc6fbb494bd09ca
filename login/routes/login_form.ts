/**
 * `/auth/login` of the basic driver: the form, its post, and the challenge for scripts (spec "Login
 * proxy routes"). A post needs a token of a form of this browser and a page of this origin before
 * anything is looked at.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";
import { authenticate } from "login/authenticate.ts";
import { canonicalName } from "core/basic_users.ts";
import { FORM_COOKIE, printCookie, readCookie, SESSION_COOKIE } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import { type LoginForm, loginPage } from "login/pages/pages.ts";
import type { Asked, LoginParts } from "login/parts.ts";
import { readBounded } from "login/proxy/body.ts";
import { safeReturnPath } from "login/return_path.ts";
import { pageProof } from "login/same_origin.ts";
import { refuseInsecureOrigin } from "login/secure_origin.ts";

/** Path of the form's cookie. */
const FORM_PATH = "/auth/login";
const FORM_TYPE = "application/x-www-form-urlencoded";
const WRONG = "The e-mail address or the password is wrong.";
const STALE = "This form was too old, or from another window. Please try again.";

/** The challenge that makes scripts send a password, and browsers ask for one. */
export const BASIC_CHALLENGE = 'Basic realm="fleetctl", charset="UTF-8"';
/** Says what is missing without making a browser ask. */
export const SESSION_CHALLENGE = 'Session realm="fleetctl"';

/** Answers `/auth/login`. */
export async function handleLogin(asked: Asked, parts: LoginParts): Promise<Response> {
  const { request } = asked;
  switch (request.method) {
    case "GET":
    case "HEAD":
      return await showLogin(asked, parts);
    case "POST":
      return await takeLogin(asked, parts);
    default: {
      const headers = new Headers({ allow: "GET, HEAD, POST" });
      return deny(REFUSALS.method(), telling(asked, headers));
    }
  }
}

async function showLogin(asked: Asked, parts: LoginParts): Promise<Response> {
  const { request, url, caller } = asked;
  const next = safeReturnPath(url.searchParams.get("next"));
  const login = await authenticate(request.headers, caller, parts);
  if (login.kind === "limited") return tooMany(asked, login.retryAfterSeconds);
  if (login.kind === "session") return redirect(next);
  if (login.kind === "basic") return await openSession(login.principal, next, { asked, parts });
  if (!asked.isNavigation) {
    const headers = new Headers({ "www-authenticate": BASIC_CHALLENGE });
    return deny(REFUSALS.login(), { requestId: asked.requestId, isPage: false, headers });
  }
  return refuseInsecureOrigin(asked, parts) ?? await formPage({ next }, 200, parts);
}

async function takeLogin(asked: Asked, parts: LoginParts): Promise<Response> {
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
  if (text === undefined) {
    return deny(REFUSALS.body(LOGIN_LIMITS.formBytesMax), telling(asked));
  }
  const fields = new URLSearchParams(text);
  const next = safeReturnPath(one(fields, "next"));
  const name = one(fields, "user") ?? "";
  const fault = await parts.forms.redeem(
    readCookie(headers.get("cookie"), FORM_COOKIE),
    one(fields, "csrf"),
  );
  if (fault !== undefined) {
    parts.log.warning("login refused", { reason: `form-${fault}`, client: caller.address });
    return await formPage({ next, name, error: STALE }, 403, parts);
  }
  const attempt = parts.attempts.begin(caller.key);
  if ("retryAfterSeconds" in attempt) return tooMany(asked, attempt.retryAfterSeconds);
  const principal = await parts.passwords.check(name, one(fields, "password") ?? "");
  if (principal === undefined) {
    parts.log.warning("login failed", { way: "form", client: caller.address });
    return await formPage({ next, name: canonicalName(name), error: WRONG }, 401, parts);
  }
  attempt.forgive();
  return await openSession(principal, next, { asked, parts });
}

/** Opens a session and leads back; one that the browser had before ends, so that none is fixed. */
async function openSession(
  principal: string,
  next: string,
  { asked, parts }: { readonly asked: Asked; readonly parts: LoginParts },
): Promise<Response> {
  const { request, caller } = asked;
  const before = readCookie(request.headers.get("cookie"), SESSION_COOKIE);
  const old = before === undefined ? undefined : await parts.sessions.read(before);
  const opened = await parts.sessions.open(principal, {
    client: caller.address,
    agent: request.headers.get("user-agent") ?? "",
  });
  if (!opened.ok) {
    parts.log.error("session not stored", { code: opened.error.code, why: opened.error.message });
    return deny(opened.error, telling(asked));
  }
  if (old?.ok === true) {
    const ended = parts.sessions.end(old.value);
    if (!ended.ok) parts.log.error("old session not ended", { why: ended.error.message });
  }
  parts.log.info("logged in", { principal, client: caller.address });
  const { token, maxAgeSeconds } = opened.value;
  const answer = redirect(next);
  answer.headers.append(
    "set-cookie",
    printCookie(SESSION_COOKIE, token, { path: "/", maxAgeSeconds }),
  );
  answer.headers.append(
    "set-cookie",
    printCookie(FORM_COOKIE, "", { path: FORM_PATH, maxAgeSeconds: 0 }),
  );
  return answer;
}

async function formPage(
  form: Omit<LoginForm, "token">,
  status: number,
  parts: LoginParts,
): Promise<Response> {
  const token = await parts.forms.issue();
  const headers = new Headers();
  headers.append(
    "set-cookie",
    printCookie(FORM_COOKIE, token, { path: FORM_PATH, maxAgeSeconds: LOGIN_LIMITS.formSeconds }),
  );
  if (status === 401) headers.set("www-authenticate", SESSION_CHALLENGE);
  return loginPage({ ...form, token }, { status, headers });
}

/** Tells a client to wait. */
export function tooMany(asked: Asked, seconds: number): Response {
  const headers = new Headers({ "retry-after": String(seconds) });
  return deny(REFUSALS.tooMany(seconds), telling(asked, headers));
}

function redirect(path: string): Response {
  return new Response(null, {
    status: 303,
    headers: { location: path, "cache-control": "no-store" },
  });
}

function telling(asked: Asked, headers?: Headers) {
  const { requestId, request } = asked;
  const isPage = asked.isNavigation ||
    (request.method === "POST" && (request.headers.get("accept") ?? "").includes("text/html"));
  return { requestId, isPage, ...(headers === undefined ? {} : { headers }) };
}

/** A field that is there exactly once. */
function one(fields: URLSearchParams, name: string): string | undefined {
  const values = fields.getAll(name);
  return values.length === 1 ? values[0] : undefined;
}
