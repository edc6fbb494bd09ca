/**
 * `/auth/sessions`: one's own sessions. GET lists them, as a page or as JSON; POST with `end=HANDLE` or
 * `end=all` ends one or all, and cuts what is open for them.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";
import type { SessionRow } from "core/login_store.ts";
import { ok, type Result } from "core/result.ts";
import { toBase64Url } from "core/signed_value.ts";
import type { Login } from "login/authenticate.ts";
import { COOKIES } from "login/cookies.ts";
import { deny, REFUSALS } from "login/deny.ts";
import { deviceName } from "login/pages/device.ts";
import { sessionsPage, type ShownSession } from "login/pages/sessions_page.ts";
import type { Asked, LoginParts } from "login/parts.ts";
import { readBounded } from "login/proxy/body.ts";
import { unstoredEnd } from "login/routes/logout.ts";
import { redirect } from "login/routes/open_session.ts";
import { telling } from "login/routes/telling.ts";
import { pageProof } from "login/same_origin.ts";

/** Where the list is. */
export const SESSIONS_PATH = "/auth/sessions";
const HANDLE_BYTES = 12;

type Known = Extract<Login, { readonly kind: "session" | "basic" }>;

/** Answers `/auth/sessions` for somebody who is logged in. */
export async function handleOwnSessions(
  asked: Asked,
  login: Known,
  parts: LoginParts,
): Promise<Response> {
  switch (asked.request.method) {
    case "GET":
    case "HEAD": {
      const shown = await shownSessions(login, parts);
      return asked.isNavigation
        ? sessionsPage(login.principal, shown)
        : Response.json({ sessions: shown }, { headers: { "cache-control": "no-store" } });
    }
    case "POST":
      return await endSessions(asked, login, parts);
    default: {
      const headers = new Headers({ allow: "GET, HEAD, POST" });
      return deny(REFUSALS.method(), telling(asked, headers));
    }
  }
}

async function shownSessions(
  login: Known,
  { sessions }: LoginParts,
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

/** A page or a log that shows it gives no id away, which would be half of a token. */
async function handleOf(id: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`session/${id}`));
  return toBase64Url(new Uint8Array(digest).slice(0, HANDLE_BYTES));
}

async function endSessions(asked: Asked, login: Known, parts: LoginParts): Promise<Response> {
  const { request, caller } = asked;
  if (pageProof(request.headers, caller, parts.publicUrl?.origin) !== "own") {
    parts.log.warning("end of sessions refused", { reason: "cross-site", client: caller.address });
    return deny(REFUSALS.crossSite(), telling(asked));
  }
  const text = await readBounded(request.body, LOGIN_LIMITS.formBytesMax);
  const wanted = text.ok ? new URLSearchParams(text.value).getAll("end") : [];
  const [handle] = wanted;
  if (handle === undefined || wanted.length > 1) return deny(REFUSALS.endMissing(), telling(asked));
  const all = parts.sessions.list(login.principal);
  const handles = await Promise.all(all.map(({ id }) => handleOf(id)));
  const ending = handle === "all" ? all : all.filter((_, at) => handles[at] === handle);
  const isOwnEnded = login.kind === "session" && ending.some(({ id }) => id === login.session.id);
  const cookies = isOwnEnded ? [parts.cookies.clear(COOKIES.session), ...refreshCookie(parts)] : [];
  const ended = handle === "all"
    ? await endEverything(login.principal, parts)
    : await endEach(ending, parts);
  if (!ended.ok) return unstoredEnd(ended.error, cookies, { asked, parts });
  parts.log.info("sessions ended", {
    principal: login.principal,
    client: caller.address,
    count: ending.length,
  });
  // A session that has ended meanwhile is what was wanted.
  return isOwnEnded ? redirect("/auth/login", cookies) : redirect(SESSIONS_PATH);
}

/** A refresh reference outlives its session, so it is ended although no session names it. */
async function endEverything(
  principal: string,
  { leases, sessions }: LoginParts,
): Promise<Result<void>> {
  // Who holds the password may ask again, but what is open ends with the sessions.
  leases.cut(sessions.boundsOfBasic(principal).id);
  return await sessions.endAll(principal);
}

async function endEach(
  ending: readonly SessionRow[],
  { sessions }: LoginParts,
): Promise<Result<void>> {
  for (const { id, principal, expires } of ending) {
    const ended = await sessions.end({ id, principal, expires });
    if (!ended.ok) return ended;
  }
  return ok(undefined);
}

function refreshCookie({ driver, cookies }: LoginParts): readonly string[] {
  return driver.kind === "oidc" ? [cookies.clear(COOKIES.refresh)] : [];
}
