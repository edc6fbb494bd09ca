/**
 * The cockpit's only error mapper: refusal → problem details (RFC 9457) with a stable code. The
 * request id is in the header. A viewer learns only what it may know.
 *
 * @module
 */

import type { GateDenial } from "core/access/gates.ts";
import { type Refusal, refusal } from "core/errors.ts";

/** Media type of a problem. */
export const PROBLEM_TYPE = "application/problem+json";

/** HTTP status of codes that do not use the status of their kind. */
const STATUS_BY_CODE: Readonly<Record<string, number>> = {
  "route-unknown": 404,
  "turn-unknown": 404,
  "approval-unknown": 404,
  "question-unknown": 404,
  "conversation-unknown": 404,
  "method-not-allowed": 405,
  "turn-key-reused": 409,
  "host-unknown": 421,
  "viewer-changed": 409,
  "host-job-running": 409,
  "body-too-large": 413,
  "body-not-json": 415,
  "model-unauthorized": 422,
  "model-not-found": 422,
  "model-garbage": 422,
  "model-unreachable": 422,
  "model-overloaded": 422,
  "model-quota-exhausted": 422,
  "model-change-running": 429,
  "turn-queue-full": 429,
  "too-many-streams": 429,
  "internal-fault": 500,
  "host-busy": 429,
  "host-job-failed": 502,
  "host-lost": 502,
  "verb-failed": 502,
  "host-offline": 503,
  "host-late": 504,
  "daemon-busy": 503,
  "daemon-lost": 503,
  "daemon-not-running": 503,
  "page-missing": 503,
  "storage-failed": 503,
  "storage-full": 507,
};
const STATUS_BY_KIND = { refused: 409, usage: 400, settings: 500, denied: 403 } as const;
const TITLES: Readonly<Record<number, string>> = {
  400: "Bad request",
  403: "Forbidden",
  404: "Not found",
  405: "Method not allowed",
  409: "Conflict",
  413: "Content too large",
  415: "Unsupported media type",
  421: "Misdirected request",
  422: "Unprocessable content",
  429: "Too many requests",
  500: "Internal error",
  502: "Bad gateway",
  503: "Service unavailable",
  504: "Gateway timeout",
  507: "Insufficient storage",
};

/** Denials of the application itself, before a gate runs. */
type Denial = GateDenial | "cross-site" | "viewer-changed";

/** Public messages of denials. */
const DENIALS: Readonly<Record<Denial, string>> = {
  "viewer-denied": "Cannot answer: not signed in, must be a user in the ledger",
  "agent-denied": "Cannot answer: this agent belongs to someone else, must be your own",
  "host-denied": "Cannot answer: only root on the gateway's host may list connections",
  "fleet-denied": "Cannot answer: only administrators may see the fleet",
  "local-only": "Cannot answer: the request came from another host, must come from this one",
  "cross-site": "Cannot answer: the request came from a page of another site",
  "viewer-changed":
    "Cannot answer: another user is signed in now, must be the user who opened the page",
};

/** Returns the HTTP status of a refusal. */
function statusOf(fault: Refusal): number {
  return STATUS_BY_CODE[fault.code] ?? STATUS_BY_KIND[fault.kind];
}

/** Returns the refusal behind a denial. */
export function denial(code: Denial): Refusal {
  return refusal(code, DENIALS[code], { kind: "denied" });
}

/** Formats a refusal as a response. The application adds request id and cache headers. */
export function problem(fault: Refusal, headers: Readonly<Record<string, string>> = {}): Response {
  const status = statusOf(fault);
  const body = {
    type: `urn:fleetctl:error:${fault.code}`,
    title: TITLES[status] ?? "Refused",
    status,
    code: fault.code,
    detail: fault.message,
    ...(fault.details.length === 0 ? {} : { errors: fault.details }),
    ...(fault.hints.length === 0 ? {} : { hints: fault.hints }),
  };
  return new Response(`${JSON.stringify(body)}\n`, {
    status,
    headers: { "content-type": PROBLEM_TYPE, ...headers },
  });
}
