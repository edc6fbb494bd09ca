/**
 * The last step of every login: opens a new session, never one that the browser sent, and
 * redirects back.
 *
 * @module
 */

import { COOKIES } from "login/cookies.ts";
import { deny } from "login/deny.ts";
import type { LoginDeps, RequestContext } from "login/deps.ts";
import { denyOptions } from "login/routes/deny_options.ts";

/** A completed login. */
export interface LoggedIn {
  readonly principal: string;
  /** A safe return path. */
  readonly next: string;
  /** Further `Set-Cookie` headers. */
  readonly cookies: readonly string[];
  /** Family of its refresh references. */
  readonly family?: string;
}

/** Opens a session and redirects; ends the browser's old session against session fixation. */
export async function openSession(
  { principal, next, cookies, family = "" }: LoggedIn,
  context: RequestContext,
  deps: LoginDeps,
): Promise<Response> {
  const { request, caller } = context;
  const before = deps.cookies.read(request.headers.get("cookie"), COOKIES.session);
  const old = before === undefined ? undefined : await deps.sessions.read(before);
  const opened = await deps.sessions.open(principal, {
    client: caller.address,
    agent: request.headers.get("user-agent") ?? "",
    family,
  });
  if (!opened.ok) {
    deps.log.error("session not stored", { code: opened.error.code, why: opened.error.message });
    return deny(opened.error, denyOptions(context));
  }
  if (old?.ok === true) {
    const ended = await deps.sessions.end(old.value);
    if (!ended.ok) deps.log.error("old session not ended", { why: ended.error.message });
  }
  deps.log.info("logged in", { principal, client: caller.address });
  const { token, maxAgeSeconds } = opened.value;
  const answer = redirect(next);
  for (const cookie of [deps.cookies.print(COOKIES.session, token, maxAgeSeconds), ...cookies]) {
    answer.headers.append("set-cookie", cookie);
  }
  return answer;
}

/** Redirects to another page by GET. */
export function redirect(to: string, cookies: readonly string[] = []): Response {
  const answer = new Response(null, {
    status: 303,
    headers: { location: to, "cache-control": "no-store" },
  });
  for (const cookie of cookies) answer.headers.append("set-cookie", cookie);
  return answer;
}
