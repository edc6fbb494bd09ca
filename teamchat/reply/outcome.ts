/**
 * Interprets responses of the platform's connector. Pure.
 *
 * A new message cannot be repeated safely: the connector may have accepted it and still answer
 * 504. So every unclear response is `ambiguous`. After a 429 the same request can be repeated.
 *
 * @module
 */

import { isPathId } from "core/teamchat/path_id.ts";
import { retryAfterMs } from "teamchat/reply/retry_after.ts";

/** Why a stream accepts nothing more. */
export type StreamEnd = "time" | "cancelled" | "completed" | "not-allowed";

/** The outcome of one request. */
export type CallOutcome =
  | { readonly kind: "ok"; readonly id: string | undefined }
  | { readonly kind: "throttled"; readonly waitMs: number }
  /** Never sent: no connection, no token, or the wait for the rate limits was aborted. */
  | { readonly kind: "unreachable"; readonly why: string }
  /** The connector may have accepted it. */
  | { readonly kind: "ambiguous"; readonly why: string }
  | { readonly kind: "stream-ended"; readonly why: StreamEnd }
  | { readonly kind: "too-large" }
  /** The conversation accepts no more messages of the bot. */
  | { readonly kind: "blocked"; readonly why: string }
  /** The conversation or the message does not exist. */
  | { readonly kind: "gone" }
  | { readonly kind: "unauthorized" }
  | { readonly kind: "failed"; readonly why: string };

/** A response as received. */
export interface CallAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
  /** Undefined when it was too long or incomplete. */
  readonly body: string | undefined;
}

const BLOCKED: ReadonlySet<string> = new Set([
  "MessageWritesBlocked",
  "BotNotInConversationRoster",
  "BotDisabledByAdmin",
  "ConversationBlockedByUser",
  "Forbidden",
]);
const STREAM_REFUSED = "ContentStreamNotAllowed";

/** Interprets a response. */
export function parseOutcome({ status, retryAfter, body }: CallAnswer, nowMs: number): CallOutcome {
  if (status >= 200 && status < 300) return { kind: "ok", id: idOf(body) };
  const { code, message } = errorOf(body);
  if (code === STREAM_REFUSED) return streamEnd(message);
  switch (status) {
    case 401:
      return { kind: "unauthorized" };
    case 403:
      return BLOCKED.has(code)
        ? { kind: "blocked", why: code }
        : { kind: "failed", why: code || "status 403" };
    case 404:
      return { kind: "gone" };
    case 413:
      return { kind: "too-large" };
    case 429:
      return { kind: "throttled", waitMs: retryAfterMs(retryAfter, nowMs) };
  }
  if (code === "MessageSizeTooBig") return { kind: "too-large" };
  if (status === 408 || status === 412 || status >= 500) {
    return { kind: "ambiguous", why: `status ${status}` };
  }
  return { kind: "failed", why: code || `status ${status}` };
}

/**
 * Teams streaming, "Error codes": one code has five causes, which only the message distinguishes.
 */
function streamEnd(message: string): CallOutcome {
  const words = message.toLowerCase();
  if (words.includes("size too large") || words.includes("too large")) return { kind: "too-large" };
  if (words.includes("exceeded streaming time")) return { kind: "stream-ended", why: "time" };
  if (words.includes("cancel")) return { kind: "stream-ended", why: "cancelled" };
  if (words.includes("completed")) return { kind: "stream-ended", why: "completed" };
  return { kind: "stream-ended", why: "not-allowed" };
}

function idOf(body: string | undefined): string | undefined {
  const { id } = parseObject(body);
  return typeof id === "string" && id.length <= 512 && isPathId(id) ? id : undefined;
}

function errorOf(body: string | undefined): { readonly code: string; readonly message: string } {
  const { error } = parseObject(body);
  const { code, message } = typeof error === "object" && error !== null
    ? error as { code?: unknown; message?: unknown }
    : {};
  return {
    code: typeof code === "string" ? code.slice(0, 80) : "",
    message: typeof message === "string" ? message.slice(0, 512) : "",
  };
}

function parseObject(body: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body ?? "");
    return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
  } catch {
    return {};
  }
}
