/**
 * Maps refusals to responses: problem details (RFC 9457) for programs, a page for people. The
 * response contains only what the caller may know; the reason is logged.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { faultPage } from "login/pages/pages.ts";

const STATUS: Readonly<Record<string, number>> = {
  "host-invalid": 400,
  "upgrade-invalid": 400,
  "body-malformed": 400,
  "login-required": 401,
  "cross-site": 403,
  "path-unknown": 404,
  "method-not-allowed": 405,
  "body-too-large": 413,
  "end-missing": 400,
  "form-invalid": 415,
  "host-unknown": 421,
  "sign-in-failed": 403,
  "sign-in-stale": 400,
  "provider-unreachable": 503,
  "too-many-logins": 429,
  "logins-busy": 503,
  "internal-fault": 500,
  "storage-failed": 503,
  "storage-full": 507,
  "logout-unstored": 507,
  "cockpit-unreachable": 502,
  "cockpit-silent": 504,
};
const TITLES: Readonly<Record<number, string>> = {
  400: "Bad request",
  401: "Not logged in",
  403: "Forbidden",
  404: "Not found",
  405: "Method not allowed",
  413: "Content too large",
  415: "Unsupported media type",
  421: "Not this server",
  429: "Too many attempts",
  500: "Internal error",
  502: "The cockpit does not answer",
  503: "Service unavailable",
  504: "The cockpit does not answer in time",
  507: "Insufficient storage",
};

/** How to answer with a refusal. */
export interface DenyOptions {
  readonly requestId: string;
  /** Draw a page instead of JSON. */
  readonly isPage: boolean;
  readonly headers?: Headers;
}

/** Returns the response for a refusal. */
export function deny(fault: Refusal, how: DenyOptions): Response {
  const status = STATUS[fault.code] ?? 500;
  const title = TITLES[status] ?? "Refused";
  const headers = new Headers(how.headers);
  if (how.isPage) {
    const text = `${fault.message}.`;
    return faultPage({ status, title, text, requestId: how.requestId, headers });
  }
  headers.set("content-type", "application/problem+json");
  headers.set("cache-control", "no-store");
  const body = {
    type: `urn:fleetctl:error:${fault.code}`,
    title,
    status,
    code: fault.code,
    detail: fault.message,
    ...(fault.hints.length === 0 ? {} : { hints: fault.hints }),
  };
  return new Response(`${JSON.stringify(body)}\n`, { status, headers });
}

/** The refusals of the login proxy. */
export const REFUSALS = {
  host: () =>
    refusal("host-invalid", "Cannot answer: the request names no host, must be host or host:port"),
  upgrade: () =>
    refusal(
      "upgrade-invalid",
      "Cannot answer: the request upgrades to another protocol, must be websocket",
    ),
  login: () => refusal("login-required", "Cannot answer: you are not logged in"),
  crossSite: () =>
    refusal(
      "cross-site",
      "Cannot answer: the request is not proven to come from a page of this origin",
    ),
  path: () => refusal("path-unknown", "Cannot answer: there is no such page under /auth"),
  method: () =>
    refusal("method-not-allowed", "Cannot answer: the page does not support this method"),
  body: (bytesMax: number) =>
    refusal(
      "body-too-large",
      `Cannot read the request: its body is too large, must be at most ${bytesMax} bytes`,
    ),
  bodyMalformed: () =>
    refusal(
      "body-malformed",
      "Cannot read the request: its body does not match its headers, must be complete chunks",
    ),
  form: () =>
    refusal(
      "form-invalid",
      "Cannot read the login: its body must be application/x-www-form-urlencoded",
    ),
  endMissing: () =>
    refusal(
      "end-missing",
      'Cannot end a session: the form must have one field "end" with a session or "all"',
    ),
  tooMany: (seconds: number) =>
    refusal(
      "too-many-logins",
      `Cannot check the password: too many failed attempts, wait ${seconds} s`,
    ),
  busy: () =>
    refusal(
      "logins-busy",
      "Cannot check the password: too many logins are in progress, try again soon",
    ),
  unreachable: () =>
    refusal("cockpit-unreachable", "Cannot answer: the cockpit is not reachable", {
      hints: ["fleetctl status"],
    }),
  silent: () =>
    refusal("cockpit-silent", "Cannot answer: the cockpit did not answer in time", {
      hints: ["fleetctl status"],
    }),
  hostUnknown: () =>
    refusal("host-unknown", "Cannot answer: this server has another name, see WEBVIEW_URL"),
  signInStale: () =>
    refusal(
      "sign-in-stale",
      "Cannot finish the sign-in: it belongs to another browser, was already used or has " +
        "expired; please try again",
    ),
  signInFailed: () =>
    refusal(
      "sign-in-failed",
      "Cannot finish the sign-in: your account was not accepted; the operator can find the " +
        "reason in the log, by the request id",
    ),
  provider: () =>
    refusal("provider-unreachable", "Cannot sign in: the identity provider does not answer"),
  refreshAway: () =>
    refusal(
      "provider-unreachable",
      "Cannot renew your session: the identity provider does not answer. You are still signed " +
        "in: please try again in a moment",
    ),
  logoutUnstored: () =>
    refusal(
      "logout-unstored",
      "Cannot store your logout: the disk of the server is full. You are logged out now, but a " +
        "restart of the server may revive the session until there is room",
      { hints: ["fleetctl status"] },
    ),
  internal: () =>
    refusal("internal-fault", "Cannot answer: the login proxy failed, its log says why"),
} as const;
