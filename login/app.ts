/**
 * The login proxy as two functions: a request to its response, and an upgrade to its decision. Both
 * take the same way — host, own routes, exempt paths, who is it, other sites, forward — so that no
 * route has to remember a check. Built on `Request` and `Response`; opens nothing itself.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { ProxyAnswer, ProxyRequest, ProxyUpgrade } from "core/proxy_port.ts";
import { authenticate, type Login } from "login/authenticate.ts";
import { callerOf, clientOfPeer, isKnownHost } from "login/caller.ts";
import { COOKIES } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import { STYLE_PATH } from "login/pages/page.ts";
import type { Asked, LoginParts } from "login/parts.ts";
import { isExempt } from "login/proxy/exempt.ts";
import { forward, tunnelFor } from "login/proxy/forward.ts";
import { REQUEST_ID_HEADER } from "login/proxy/headers.ts";
import { loginPathFor } from "login/return_path.ts";
import { BASIC_CHALLENGE, SESSION_CHALLENGE } from "login/challenges.ts";
import { handleForm } from "login/routes/login_form.ts";
import { handleCallback, handleSignIn } from "login/routes/oidc.ts";
import { handleOwnSessions, SESSIONS_PATH } from "login/routes/own_sessions.ts";
import { handleLogout } from "login/routes/logout.ts";
import { refreshed } from "login/routes/refresh.ts";
import { busy, tooMany } from "login/routes/telling.ts";
import type { Lease } from "login/session/leases.ts";
import { isFromBrowser, isNavigation, pageProof } from "login/same_origin.ts";
import { refuseInsecureOrigin } from "login/secure_origin.ts";
import style from "login/pages/style.css" with { type: "text" };

/** The login proxy. */
export interface LoginApp {
  handle(request: ProxyRequest, peer: string): Promise<Response | ProxyAnswer>;
  upgrade(request: ProxyRequest, peer: string): Promise<ProxyUpgrade>;
  /** Whose a connection is; undefined for proxies of ours, through which everybody may come. */
  clientOf(peer: string): string | undefined;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
/** Methods that change nothing. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const HSTS_SECONDS = 31_536_000;
const DRESS = [
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
  ["referrer-policy", "same-origin"],
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-resource-policy", "same-origin"],
] as const;
const DRESS_HTTPS = [
  ...DRESS,
  ["strict-transport-security", `max-age=${HSTS_SECONDS}`],
] as const;

/** Makes the login proxy. */
export function createLogin(parts: LoginParts): LoginApp {
  return {
    handle: async (request, peer) => {
      const asked = askedOf(request, peer, parts);
      let response: Response | ProxyAnswer;
      try {
        response = await answer(asked, parts);
      } catch (thrown) {
        parts.log.error("request failed", {
          request_id: asked.requestId,
          error: errorText(thrown),
        });
        response = deny(REFUSALS.internal(), {
          requestId: asked.requestId,
          isPage: asked.isNavigation,
        });
      }
      return dress(response, asked);
    },
    upgrade: async (request, peer) => {
      const asked = askedOf(request, peer, parts);
      const decided = await decideUpgrade(asked, parts);
      if (!(decided instanceof Response)) return decided;
      return { accept: false, response: dress(decided, asked) };
    },
    clientOf: (peer) => clientOfPeer(peer, parts.trustedProxies),
  };
}

function askedOf(request: ProxyRequest, peer: string, parts: LoginParts): Asked {
  const given = request.headers.get(REQUEST_ID_HEADER) ?? "";
  return {
    request,
    url: request.url,
    caller: callerOf(request.headers, peer, parts.trustedProxies),
    requestId: REQUEST_ID.test(given) ? given : parts.random.uuid(),
    isNavigation: isNavigation(request.method, request.headers),
  };
}

async function answer(asked: Asked, parts: LoginParts): Promise<Response | ProxyAnswer> {
  const { request, url, caller, requestId } = asked;
  const { pathname } = url;
  if (caller.host === undefined) return deny(REFUSALS.host(), { requestId, isPage: false });
  if (!isKnownHost(caller, parts.publicUrl)) {
    return deny(REFUSALS.hostUnknown(), { requestId, isPage: asked.isNavigation });
  }
  const { driver } = parts;
  if (pathname === "/auth/login") {
    return driver.kind === "basic"
      ? await handleForm(asked, driver, parts)
      : await handleSignIn(asked, driver, parts);
  }
  if (pathname === "/auth/callback" && driver.kind === "oidc") {
    return await handleCallback(asked, driver, parts);
  }
  if (pathname === "/auth/logout") return await handleLogout(asked, parts);
  if (pathname === STYLE_PATH) return styleSheet(request.method);
  if (pathname !== SESSIONS_PATH && (pathname === "/auth" || pathname.startsWith("/auth/"))) {
    return deny(REFUSALS.path(), { requestId, isPage: asked.isNavigation });
  }
  if (isExempt(request.method, pathname)) {
    return await forward(asked, { principal: undefined, lease: undefined }, parts);
  }
  const login = await authenticate(request.headers, caller, parts);
  if (login.kind === "nobody" && asked.isNavigation && driver.kind === "oidc") {
    const again = await refreshed(asked, driver, parts);
    if (again !== undefined) return again;
  }
  const refused = refuse(login, asked, parts);
  if (refused !== undefined) return refused;
  if (pathname === SESSIONS_PATH && (login.kind === "session" || login.kind === "basic")) {
    return await handleOwnSessions(asked, login, parts);
  }
  const lease = await leaseFor(login, parts);
  if (lease === "ended") return loginRequired(asked, parts, false);
  const answer = await forward(asked, { principal: principalOf(login), lease }, parts);
  if (login.kind === "session" && asked.isNavigation) await renewToken(answer, asked, parts);
  return answer;
}

/** Lets a rotation of `WEBVIEW_HMAC_KEY` finish while people stay logged in. */
async function renewToken(
  answer: Response | ProxyAnswer,
  { request }: Asked,
  { cookies, sessions }: LoginParts,
): Promise<void> {
  const token = cookies.read(request.headers.get("cookie"), COOKIES.session);
  const renewed = token === undefined ? undefined : await sessions.renew(token);
  if (renewed === undefined) return;
  const { headers } = answer;
  headers.append(
    "set-cookie",
    cookies.print(COOKIES.session, renewed.token, renewed.maxAgeSeconds),
  );
}

async function decideUpgrade(asked: Asked, parts: LoginParts): Promise<ProxyUpgrade | Response> {
  const { request, url, caller, requestId } = asked;
  const how = { requestId, isPage: false };
  if (caller.host === undefined) return deny(REFUSALS.host(), how);
  if (!isKnownHost(caller, parts.publicUrl)) return deny(REFUSALS.hostUnknown(), how);
  const isSocket = request.headers.get("upgrade")?.trim().toLowerCase() === "websocket";
  if (!isSocket || request.method !== "GET") return deny(REFUSALS.upgrade(), how);
  if (url.pathname === "/auth" || url.pathname.startsWith("/auth/")) {
    return deny(REFUSALS.path(), how);
  }
  const login = await authenticate(request.headers, caller, parts);
  const refused = refuse(login, asked, parts, { isUpgrade: true });
  if (refused !== undefined) return refused;
  const principal = principalOf(login);
  if (principal === undefined) return deny(REFUSALS.login(), how);
  const lease = await leaseFor(login, parts);
  if (lease === "ended") return loginRequired(asked, parts, true);
  try {
    return { accept: "tunnel", tunnel: await tunnelFor(asked, { principal, lease }, parts) };
  } catch (thrown) {
    lease?.release();
    throw thrown;
  }
}

/**
 * Takes the lease that the end of a session cuts. The session may have ended between the check of
 * its cookie and the lease, and that end found no lease to cut: so the session is checked again.
 */
async function leaseFor(
  login: Login,
  { leases, sessions }: LoginParts,
): Promise<Lease | "ended" | undefined> {
  if (login.kind === "basic") return leases.take(sessions.boundsOfBasic(login.principal));
  if (login.kind !== "session") return undefined;
  const lease = leases.take(login.session);
  if (await sessions.holds(login.session)) return lease;
  lease.release();
  return "ended";
}

/** Refuses who may not pass: nobody, a client past its limit, a page of another site. */
function refuse(
  login: Login,
  asked: Asked,
  parts: LoginParts,
  of: { readonly isUpgrade: boolean } = { isUpgrade: false },
): Response | undefined {
  const { request, caller, requestId } = asked;
  if (login.kind === "limited") return tooMany(asked, login.retryAfterSeconds);
  if (login.kind === "busy") return busy(asked);
  if (login.kind === "nobody") {
    parts.log.debug("not logged in", { request_id: requestId, reason: login.reason });
    return loginRequired(asked, parts, of.isUpgrade);
  }
  if (!of.isUpgrade && SAFE_METHODS.has(request.method)) return undefined;
  // Browsers send `Origin` with each upgrade and each change; a script with a password need not.
  const proof = of.isUpgrade
    ? upgradeProof(asked, parts)
    : pageProof(request.headers, caller, parts.publicUrl?.origin);
  if (proof === "own" || (proof === "none" && login.kind === "basic")) return undefined;
  parts.log.warning("request refused", { request_id: requestId, reason: `page-${proof}` });
  return deny(REFUSALS.crossSite(), { requestId, isPage: false });
}

/** For an upgrade `Origin` has to be right, whatever else a browser says. */
function upgradeProof({ request, caller }: Asked, { publicUrl }: LoginParts) {
  const origin = request.headers.get("origin");
  const only = new Headers(origin === null ? {} : { origin });
  const byOrigin = pageProof(only, caller, publicUrl?.origin);
  const bySite = pageProof(request.headers, caller, publicUrl?.origin);
  return bySite === "foreign" ? bySite : byOrigin;
}

function loginRequired(asked: Asked, parts: LoginParts, isUpgrade: boolean): Response {
  const { request, url, requestId } = asked;
  const headers = new Headers();
  if (parts.cookies.isIn(request.headers.get("cookie"), COOKIES.session)) {
    headers.append("set-cookie", parts.cookies.clear(COOKIES.session));
  }
  if (asked.isNavigation && !isUpgrade) {
    const insecure = refuseInsecureOrigin(asked, parts);
    if (insecure !== undefined) return insecure;
    headers.set("location", loginPathFor(url.pathname + url.search));
    headers.set("cache-control", "no-store");
    return new Response(null, { status: 303, headers });
  }
  // A browser that is challenged with Basic opens a window of its own over the page.
  const takesPasswords = parts.driver.kind === "basic" && !isFromBrowser(request.headers);
  const challenge = takesPasswords ? BASIC_CHALLENGE : SESSION_CHALLENGE;
  headers.set("www-authenticate", challenge);
  return deny(REFUSALS.login(), { requestId, isPage: false, headers });
}

function principalOf(login: Login): string | undefined {
  return login.kind === "session" || login.kind === "basic" ? login.principal : undefined;
}

function styleSheet(method: string): Response {
  if (method !== "GET" && method !== "HEAD") {
    return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
  }
  return new Response(style, {
    headers: { "content-type": "text/css; charset=utf-8", "cache-control": "max-age=3600" },
  });
}

/** Headers of every answer; where the cockpit has set one itself, its own stays. */
function dress<Answer extends Response | ProxyAnswer>(
  response: Answer,
  { caller, requestId }: Asked,
): Answer {
  const { headers } = response;
  for (const [name, value] of caller.scheme === "https" ? DRESS_HTTPS : DRESS) {
    if (!headers.has(name)) headers.set(name, value);
  }
  headers.set(REQUEST_ID_HEADER, requestId);
  return response;
}
