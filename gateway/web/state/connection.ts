/**
 * The state of the page's connection, as the pill shows it, and the retry delays. Pure.
 *
 * @module
 */

import { type Backoff, backoffMs } from "core/concurrency/backoff.ts";
import { STREAM_LIMITS } from "gateway/limits.ts";

/** Connection state shown by the pill. */
export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "online" }
  /** An attempt failed; the next one is at `retryAt`. */
  | { readonly kind: "waiting"; readonly attempt: number; readonly retryAt: number }
  | { readonly kind: "retrying"; readonly attempt: number }
  /** The session has ended, or there was no login. */
  | { readonly kind: "signed-out" };

const BACKOFF: Backoff = { firstMs: 800, maxMs: 15_000, jitter: 0.5 };
/** A stream that is silent for this long is dead: two keep-alives are missing. */
export const SILENCE_MAX_MS = (2 * STREAM_LIMITS.keepAliveSeconds + 10) * 1_000;

/** Milliseconds before attempt `attempt` (1 is the first after a failure); `chance` lies in 0…1. */
export function retryDelay(attempt: number, chance: number): number {
  // Never less than the first delay, so that many pages do not reconnect at once.
  return Math.max(BACKOFF.firstMs, backoffMs(BACKOFF, attempt - 1, chance));
}

/** Text of the pill; undefined when it is hidden. */
export function pillWords(state: Connection, now: number): string | undefined {
  switch (state.kind) {
    case "connecting":
    case "online":
      return undefined;
    case "retrying":
      return "Reconnecting…";
    case "signed-out":
      return "You are signed out";
    case "waiting": {
      const seconds = Math.max(0, Math.ceil((state.retryAt - now) / 1_000));
      return seconds === 0 ? "Reconnecting…" : `No connection. Next try in ${seconds} s`;
    }
  }
}
