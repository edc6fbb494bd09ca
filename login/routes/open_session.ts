/**
 * The end of every login, whatever the driver: a new session, never one that the browser brought along,
 * and the way back.
 *
 * @module
 */

import { COOKIES } from "login/cookies.ts";
import { deny } from "login/deny.ts";
import type { Asked, LoginParts } from "login/parts.ts";
import { telling } from "login/routes/telling.ts";

/** Who has logged in, and what goes with the answer. */
export interface LoggedIn {
  readonly principal: string;
  /** A safe return path. */
  readonly next: string;
  /** Further `Set-Cookie` headers. */
  readonly cookies: readonly string[];
  /** The refresh references that go with it. */
  readonly family?: string;
}

/** Opens a session and leads back; one that the browser had before ends, so that none is fixed. */
export async function openSession(
  { principal, next, cookies, family = "" }: LoggedIn,
  asked: Asked,
  parts: LoginParts,
): Promise<Response> {
  const { request, caller } = asked;
  const before = parts.cookies.read(request.headers.get("cookie"), COOKIES.session);
  const old = before === undefined ? undefined : await parts.sessions.read(before);
  const opened = await parts.sessions.open(principal, {
    client: caller.address,
    agent: request.headers.get("user-agent") ?? "",
    family,
  });
  if (!opened.ok) {
    parts.log.error("session not stored", { code: opened.error.code, why: opened.error.message });
    return deny(opened.error, telling(asked));
  }
  if (old?.ok === true) {
    const ended = await parts.sessions.end(old.value);
    if (!ended.ok) parts.log.error("old session not ended", { why: ended.error.message });
  }
  parts.log.info("logged in", { principal, client: caller.address });
  const { token, maxAgeSeconds } = opened.value;
  const answer = redirect(next);
  for (const cookie of [parts.cookies.print(COOKIES.session, token, maxAgeSeconds), ...cookies]) {
    answer.headers.append("set-cookie", cookie);
  }
  return answer;
}

/** Leads to another place by GET. */
export function redirect(to: string, cookies: readonly string[] = []): Response {
  const answer = new Response(null, {
    status: 303,
    headers: { location: to, "cache-control": "no-store" },
  });
  for (const cookie of cookies) answer.headers.append("set-cookie", cookie);
  return answer;
}
