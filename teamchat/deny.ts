/**
 * Refusals of the team-chat gateway on the wire: problem details (RFC 9457) with a stable code and
 * no details. The log contains the reason under the same request id.
 *
 * | Status | When |
 * |---|---|
 * | 400 | the body is not an activity |
 * | 401 | the token is absent or invalid |
 * | 403 | the token is valid, but not for this activity; in local mode: possibly a page of a browser |
 * | 404, 405 | unknown route, another method |
 * | 408, 413, 415 | the body is late, too long, not JSON |
 * | 429 | too many requests, or too many turns wait for the agent |
 * | 501 | an unknown invoke |
 * | 503 | the connector's keys or the disk are unavailable: retry later |
 *
 * @module
 */

import type { PlainAnswer } from "core/http1/plain_http.ts";

/** Codes of refusals. */
export type DenyCode =
  | "activity-malformed"
  | "activity-refused"
  | "body-late"
  | "body-not-json"
  | "body-too-large"
  | "invoke-unknown"
  | "keys-unavailable"
  | "method-not-allowed"
  | "page-refused"
  | "route-unknown"
  | "storage-failed"
  | "too-many-requests"
  | "token-refused"
  | "turn-queue-full";

const ANSWERS: Readonly<Record<DenyCode, readonly [status: number, detail: string]>> = {
  "activity-malformed": [400, "Cannot accept the activity: it is malformed"],
  "activity-refused": [403, "Cannot accept the activity: its token is not valid for it"],
  "body-late": [408, "Cannot accept the activity: its body arrived too late"],
  "body-not-json": [415, "Cannot accept the activity: it must be application/json, not encoded"],
  "body-too-large": [413, "Cannot accept the activity: it is too long"],
  "invoke-unknown": [501, "Cannot answer: unknown invoke"],
  "keys-unavailable": [503, "Cannot check the token: the connector's keys are unavailable"],
  "method-not-allowed": [405, "Cannot answer: the route does not support this method"],
  "page-refused": [403, "Cannot answer: in local mode the host must be localhost or 127.0.0.1"],
  "route-unknown": [404, "Cannot answer: there is no such route"],
  "storage-failed": [503, "Cannot store the activity: the write failed"],
  "too-many-requests": [429, "Cannot accept the activity: too many requests are in progress"],
  "token-refused": [401, "Cannot accept the activity: it has no valid token"],
  "turn-queue-full": [429, "Cannot accept the activity: too many wait for this agent"],
};

/** Formats a refusal. */
export function deny(code: DenyCode, headers: PlainAnswer["headers"] = []): PlainAnswer {
  const [status, detail] = ANSWERS[code];
  const body = { type: `urn:fleetctl:error:${code}`, title: "Refused", status, code, detail };
  return {
    status,
    headers: [["content-type", "application/problem+json"], ...headers],
    body: `${JSON.stringify(body)}\n`,
  };
}
