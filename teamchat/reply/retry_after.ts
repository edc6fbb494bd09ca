/**
 * Parses `Retry-After` (RFC 9110, 10.2.3): seconds or a date. An invalid value counts as absent.
 * Pure.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";

/** Wait when the header is absent or invalid. */
const DEFAULT_MS = 2_000;

/** Returns how long to wait, in milliseconds, up to the limit. */
export function retryAfterMs(header: string | null, nowMs: number): number {
  const text = header?.trim() ?? "";
  const waitMs = /^\d{1,9}(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  if (!Number.isFinite(waitMs) || waitMs < 0) return DEFAULT_MS;
  return Math.min(Math.max(waitMs, 0), TEAMCHAT_LIMITS.retryAfterMsMax);
}
