/**
 * `/auth/sessions`: the user's own sessions. GET lists them, as a page or as JSON; POST with
 * `end=HANDLE` or `end=all` ends one or all, and aborts their open requests.
 *
 * @module
 */

import { toBase64Url } from "core/crypto/signed_value.ts";
import type { SessionRow } from "core/login/store.ts";
import { ok, type Result } from "core/result.ts";
import type { Login } from "login/authenticate.ts";
import { COOKIES } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import { deviceName } from "login/pages/device.ts";
import { sessionsPage, type ShownSession } from "login/pages/sessions_page.ts";
import type { LoginDeps, RequestContext } from "login/deps.ts";
import { readForm } from "login/proxy/body.ts";
import { unstoredEnd } from "login/routes/logout.ts";
import { redirect } from "login/routes/open_session.ts";
import { denyOptions } from "login/routes/deny_options.ts";
import { pageProof } from "login/same_origin.ts";

/** Path of the list. */
export const SESSIONS_PATH = "/auth/sessions";
const HANDLE_BYTES = 12;

type LoggedInUser = Extract<Login, { readonly kind: "session" | "basic" }>;

/** Answers `/auth/sessions` for a logged-in user. */
export async function handleOwnSessions(
  context: RequestContext,
  login: LoggedInUser,
  deps: LoginDeps,
): Promise<Response> {
  switch (context.request.method) {
    case "GET":
    case "HEAD": {
      const shown = await shownSessions(login, deps);
      return context.isNavigation
        ? sessionsPage(login.principal, shown)
        : Response.json({ sessions: shown }, { headers: { "cache-control": "no-store" } });
    }
    case "POST":
      return await endSessions(context, login, deps);
    default: {
      const headers = new Headers({ allow: "GET, HEAD, POST" });
      return deny(REFUSALS.method(), denyOptions(context, headers));
    }
  }
}

async function shownSessions(
  login: LoggedInUser,
  { sessions }: LoginDeps,
): Promise<readonly ShownSession[]> {
  return await Promise.all(
    sessions.list(login.principal).map(async (row) => ({
      handle: await handleOf(row.id),
      device: deviceName(row.agent),
      place: row.client,
      since: new Date(row.created),
      lastSeen: new Date(row.seen),
      isCurrent: login.kind === "session" && login.session.id === row.id,
    })),
  );
}

/** Hashes the id, so that pages and logs do not reveal part of a token. */
async function handleOf(id: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`session/${id}`));
  return toBase64Url(new Uint8Array(digest).slice(0, HANDLE_BYTES));
}

async function endSessions(
  context: RequestContext,
  login: LoggedInUser,
  deps: LoginDeps,
): Promise<Response> {
  const { request, caller } = context;
  if (pageProof(request.headers, caller, deps.publicUrl?.origin) !== "own") {
    deps.log.warning("end of sessions refused", { reason: "cross-site", client: caller.address });
    return deny(REFUSALS.crossSite(), denyOptions(context));
  }
  const text = await readForm(request.body);
  const wanted = text.ok ? new URLSearchParams(text.value).getAll("end") : [];
  const [handle] = wanted;
  if (handle === undefined || wanted.length > 1) {
    return deny(REFUSALS.endMissing(), denyOptions(context));
  }
  const all = deps.sessions.list(login.principal);
  const handles = await Promise.all(all.map(({ id }) => handleOf(id)));
  const ending = handle === "all" ? all : all.filter((_, at) => handles[at] === handle);
  const isOwnEnded = login.kind === "session" && ending.some(({ id }) => id === login.session.id);
  const cookies = isOwnEnded ? [deps.cookies.clear(COOKIES.session), ...refreshCookie(deps)] : [];
  const ended = handle === "all"
    ? await endAllSessions(login.principal, deps)
    : await endEach(ending, deps);
  if (!ended.ok) return unstoredEnd(ended.error, cookies, { context, deps });
  deps.log.info("sessions ended", {
    principal: login.principal,
    client: caller.address,
    count: ending.length,
  });
  // A session that ended concurrently is fine.
  return isOwnEnded ? redirect("/auth/login", cookies) : redirect(SESSIONS_PATH);
}

/** Also ends refresh references, which outlive their sessions. */
async function endAllSessions(
  principal: string,
  { leases, sessions }: LoginDeps,
): Promise<Result<void>> {
  // New requests with a Basic header are still accepted, but open ones end with the sessions.
  leases.abort(sessions.leaseTargetOfBasic(principal).id);
  return await sessions.endAll(principal);
}

async function endEach(
  ending: readonly SessionRow[],
  { sessions }: LoginDeps,
): Promise<Result<void>> {
  for (const { id, principal, expires } of ending) {
    const ended = await sessions.end({ id, principal, expires });
    if (!ended.ok) return ended;
  }
  return ok(undefined);
}

function refreshCookie({ driver, cookies }: LoginDeps): readonly string[] {
  return driver.kind === "oidc" ? [cookies.clear(COOKIES.refresh)] : [];
}
