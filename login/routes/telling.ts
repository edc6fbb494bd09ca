/**
 * How the login's own routes tell a refusal: as a page to a person, as problem details to a program.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";
import { deny, REFUSALS, type Telling } from "login/deny.ts";
import type { Asked } from "login/parts.ts";

/** Says how a refusal of this request is told. */
export function telling(asked: Asked, headers?: Headers): Telling {
  const { requestId, request } = asked;
  const isPage = asked.isNavigation ||
    (request.method === "POST" && (request.headers.get("accept") ?? "").includes("text/html"));
  return { requestId, isPage, ...(headers === undefined ? {} : { headers }) };
}

/** Tells a client that its password was not looked at. */
export function busy(asked: Asked): Response {
  const headers = new Headers({ "retry-after": String(LOGIN_LIMITS.retrySeconds) });
  return deny(REFUSALS.busy(), telling(asked, headers));
}

/** Tells a client to wait. */
export function tooMany(asked: Asked, seconds: number): Response {
  const headers = new Headers({ "retry-after": String(seconds) });
  return deny(REFUSALS.tooMany(seconds), telling(asked, headers));
}
