/**
 * The login proxy as two functions: one answers requests, one decides upgrades. Both run the same
 * checks in the same order: host, own routes, exempt paths, authentication, cross-site requests,
 * forwarding. An upgrade to an own route is refused, and no path is exempt for upgrades. Opens no
 * sockets or files.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { ProxyAnswer, ProxyRequest, ProxyUpgrade } from "login/http1/proxy_port.ts";
import { authenticate, type Login } from "login/authenticate.ts";
import { callerOf, clientOfPeer, isKnownHost } from "login/caller.ts";
import { COOKIES } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import { STYLE_PATH } from "login/pages/page.ts";
import type { LoginDeps, RequestContext } from "login/deps.ts";
import { isExempt } from "login/proxy/exempt.ts";
import { forward, tunnelFor } from "login/proxy/forward.ts";
import { REQUEST_ID_HEADER } from "login/proxy/headers.ts";
import { loginPathFor } from "login/return_path.ts";
import { BASIC_CHALLENGE, SESSION_CHALLENGE } from "login/challenges.ts";
import { handleForm } from "login/routes/login_form.ts";
import { handleCallback, handleSignIn } from "login/routes/oidc.ts";
import { handleOwnSessions, SESSIONS_PATH } from "login/routes/own_sessions.ts";
import { handleLogout } from "login/routes/logout.ts";
import { tryRefresh } from "login/routes/refresh.ts";
import { denyBusy, denyTooMany } from "login/routes/deny_options.ts";
import type { Lease } from "login/session/leases.ts";
import { isFromBrowser, isNavigation, pageProof } from "login/same_origin.ts";
import { refuseInsecureOrigin } from "login/secure_origin.ts";
import style from "login/pages/style.css" with { type: "text" };

/** The login proxy. */
export interface LoginApp {
  handle(request: ProxyRequest, peer: string): Promise<Response | ProxyAnswer>;
  upgrade(request: ProxyRequest, peer: string): Promise<ProxyUpgrade>;
  /** The client of a connection; undefined for a trusted proxy, which serves many clients. */
  clientOf(peer: string): string | undefined;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
/** Methods that change nothing. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const HSTS_SECONDS = 31_536_000;
const SECURITY_HEADERS = [
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
  ["referrer-policy", "same-origin"],
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-resource-policy", "same-origin"],
] as const;
const SECURITY_HEADERS_HTTPS = [
  ...SECURITY_HEADERS,
  ["strict-transport-security", `max-age=${HSTS_SECONDS}`],
] as const;

/** Creates the login proxy. */
export function createLogin(deps: LoginDeps): LoginApp {
  return {
    handle: async (request, peer) => {
      const context = contextOf(request, peer, deps);
      let response: Response | ProxyAnswer;
      try {
        response = await answer(context, deps);
      } catch (thrown) {
        deps.log.error("request failed", {
          request_id: context.requestId,
          error: errorText(thrown),
        });
        response = deny(REFUSALS.internal(), {
          requestId: context.requestId,
          isPage: context.isNavigation,
        });
      }
      return addSecurityHeaders(response, context);
    },
    upgrade: async (request, peer) => {
      const context = contextOf(request, peer, deps);
      const decided = await decideUpgrade(context, deps);
      if (!(decided instanceof Response)) return decided;
      return { accept: false, response: addSecurityHeaders(decided, context) };
    },
    clientOf: (peer) => clientOfPeer(peer, deps.trustedProxies),
  };
}

function contextOf(request: ProxyRequest, peer: string, deps: LoginDeps): RequestContext {
  const given = request.headers.get(REQUEST_ID_HEADER) ?? "";
  return {
    request,
    url: request.url,
    caller: callerOf(request.headers, peer, deps.trustedProxies),
    requestId: REQUEST_ID.test(given) ? given : deps.random.uuid(),
    isNavigation: isNavigation(request.method, request.headers),
  };
}

async function answer(context: RequestContext, deps: LoginDeps): Promise<Response | ProxyAnswer> {
  const { request, url, caller, requestId } = context;
  const { pathname } = url;
  if (caller.host === undefined) return deny(REFUSALS.host(), { requestId, isPage: false });
  if (!isKnownHost(caller, deps.publicUrl)) {
    return deny(REFUSALS.hostUnknown(), { requestId, isPage: context.isNavigation });
  }
  const { driver } = deps;
  if (pathname === "/auth/login") {
    return driver.kind === "basic"
      ? await handleForm(context, driver, deps)
      : await handleSignIn(context, driver, deps);
  }
  if (pathname === "/auth/callback" && driver.kind === "oidc") {
    return await handleCallback(context, driver, deps);
  }
  if (pathname === "/auth/logout") return await handleLogout(context, deps);
  if (pathname === STYLE_PATH) return styleSheet(request.method);
  if (pathname !== SESSIONS_PATH && (pathname === "/auth" || pathname.startsWith("/auth/"))) {
    return deny(REFUSALS.path(), { requestId, isPage: context.isNavigation });
  }
  if (isExempt(request.method, pathname)) {
    return await forward(context, { principal: undefined, lease: undefined }, deps);
  }
  const login = await authenticate(request.headers, caller, deps);
  if (login.kind === "anonymous" && context.isNavigation && driver.kind === "oidc") {
    const again = await tryRefresh(context, driver, deps);
    if (again !== undefined) return again;
  }
  const refused = refuse(login, context, deps);
  if (refused !== undefined) return refused;
  if (pathname === SESSIONS_PATH && (login.kind === "session" || login.kind === "basic")) {
    return await handleOwnSessions(context, login, deps);
  }
  const lease = await leaseFor(login, deps);
  if (lease === "ended") return loginRequired(context, deps, false);
  const answer = await forward(context, { principal: principalOf(login), lease }, deps);
  if (login.kind === "session" && context.isNavigation) await renewToken(answer, context, deps);
  return answer;
}

/** Re-signs tokens of an old `WEBVIEW_HMAC_KEY`, so that a key rotation logs no user out. */
async function renewToken(
  answer: Response | ProxyAnswer,
  { request }: RequestContext,
  { cookies, sessions }: LoginDeps,
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

async function decideUpgrade(
  context: RequestContext,
  deps: LoginDeps,
): Promise<ProxyUpgrade | Response> {
  const { request, url, caller, requestId } = context;
  const how = { requestId, isPage: false };
  if (caller.host === undefined) return deny(REFUSALS.host(), how);
  if (!isKnownHost(caller, deps.publicUrl)) return deny(REFUSALS.hostUnknown(), how);
  const isSocket = request.headers.get("upgrade")?.trim().toLowerCase() === "websocket";
  if (!isSocket || request.method !== "GET") return deny(REFUSALS.upgrade(), how);
  if (url.pathname === "/auth" || url.pathname.startsWith("/auth/")) {
    return deny(REFUSALS.path(), how);
  }
  const login = await authenticate(request.headers, caller, deps);
  const refused = refuse(login, context, deps, { isUpgrade: true });
  if (refused !== undefined) return refused;
  const principal = principalOf(login);
  if (principal === undefined) return deny(REFUSALS.login(), how);
  const lease = await leaseFor(login, deps);
  if (lease === "ended") return loginRequired(context, deps, true);
  try {
    return { accept: "tunnel", tunnel: await tunnelFor(context, { principal, lease }, deps) };
  } catch (thrown) {
    lease?.release();
    throw thrown;
  }
}

/**
 * Acquires the lease that is aborted when the session ends. The session may have ended between the
 * check of its cookie and the lease, so it is checked again.
 */
async function leaseFor(
  login: Login,
  { leases, sessions }: LoginDeps,
): Promise<Lease | "ended" | undefined> {
  if (login.kind === "basic") return leases.acquire(sessions.leaseTargetOfBasic(login.principal));
  if (login.kind !== "session") return undefined;
  const lease = leases.acquire(login.session);
  if (await sessions.isActive(login.session)) return lease;
  lease.release();
  return "ended";
}

/** Refuses callers without a login, callers over their limit, and pages of other sites. */
function refuse(
  login: Login,
  context: RequestContext,
  deps: LoginDeps,
  of: { readonly isUpgrade: boolean } = { isUpgrade: false },
): Response | undefined {
  const { request, caller, requestId } = context;
  if (login.kind === "limited") return denyTooMany(context, login.retryAfterSeconds);
  if (login.kind === "busy") return denyBusy(context);
  if (login.kind === "anonymous") {
    deps.log.debug("not logged in", { request_id: requestId, reason: login.reason });
    return loginRequired(context, deps, of.isUpgrade);
  }
  if (!of.isUpgrade && SAFE_METHODS.has(request.method)) return undefined;
  // Browsers send `Origin` with each upgrade and each write. A script with a password may omit it.
  const proof = of.isUpgrade
    ? upgradeProof(context, deps)
    : pageProof(request.headers, caller, deps.publicUrl?.origin);
  if (proof === "own" || (proof === "none" && login.kind === "basic")) return undefined;
  deps.log.warning("request refused", { request_id: requestId, reason: `page-${proof}` });
  return deny(REFUSALS.crossSite(), { requestId, isPage: false });
}

/** An upgrade requires the right `Origin`, whatever other headers claim. */
function upgradeProof({ request, caller }: RequestContext, { publicUrl }: LoginDeps) {
  const origin = request.headers.get("origin");
  const only = new Headers(origin === null ? {} : { origin });
  const byOrigin = pageProof(only, caller, publicUrl?.origin);
  const bySite = pageProof(request.headers, caller, publicUrl?.origin);
  return bySite === "foreign" ? bySite : byOrigin;
}

function loginRequired(context: RequestContext, deps: LoginDeps, isUpgrade: boolean): Response {
  const { request, url, requestId } = context;
  const headers = new Headers();
  if (deps.cookies.isIn(request.headers.get("cookie"), COOKIES.session)) {
    headers.append("set-cookie", deps.cookies.clear(COOKIES.session));
  }
  if (context.isNavigation && !isUpgrade) {
    const insecure = refuseInsecureOrigin(context, deps);
    if (insecure !== undefined) return insecure;
    headers.set("location", loginPathFor(url.pathname + url.search));
    headers.set("cache-control", "no-store");
    return new Response(null, { status: 303, headers });
  }
  // A Basic challenge would make the browser open its own password dialog.
  const takesPasswords = deps.driver.kind === "basic" && !isFromBrowser(request.headers);
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

/** Adds the headers of every answer; keeps values that the cockpit has set. */
function addSecurityHeaders<Answer extends Response | ProxyAnswer>(
  response: Answer,
  { caller, requestId }: RequestContext,
): Answer {
  const { headers } = response;
  for (
    const [name, value] of caller.scheme === "https" ? SECURITY_HEADERS_HTTPS : SECURITY_HEADERS
  ) {
    if (!headers.has(name)) headers.set(name, value);
  }
  headers.set(REQUEST_ID_HEADER, requestId);
  return response;
}
