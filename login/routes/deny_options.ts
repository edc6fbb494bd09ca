/**
 * How the login routes answer with a refusal: a page for people, problem details for programs.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import { deny, type DenyOptions, REFUSALS } from "login/deny.ts";
import type { RequestContext } from "login/deps.ts";

/** Returns how to answer this request with a refusal. */
export function denyOptions(context: RequestContext, headers?: Headers): DenyOptions {
  const { requestId, request } = context;
  const isPage = context.isNavigation ||
    (request.method === "POST" && (request.headers.get("accept") ?? "").includes("text/html"));
  return { requestId, isPage, ...defined({ headers }) };
}

/** Answers that the password was not checked. */
export function denyBusy(context: RequestContext): Response {
  const headers = new Headers({ "retry-after": String(LOGIN_LIMITS.retrySeconds) });
  return deny(REFUSALS.busy(), denyOptions(context, headers));
}

/** Answers that the client must wait. */
export function denyTooMany(context: RequestContext, seconds: number): Response {
  const headers = new Headers({ "retry-after": String(seconds) });
  return deny(REFUSALS.tooMany(seconds), denyOptions(context, headers));
}
