/**
 * The state of the page's one connection, as the pill shows it, and when to try again. Pure.
 *
 * @module
 */

import { type Backoff, backoffMs } from "core/concurrency/backoff.ts";
import { STREAM_LIMITS } from "gateway/limits.ts";

/** What the pill shows. */
export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "online" }
  /** A try failed; the next one is at `retryAt`. */
  | { readonly kind: "waiting"; readonly attempt: number; readonly retryAt: number }
  | { readonly kind: "retrying"; readonly attempt: number }
  /** The session is over, or nobody was signed in. */
  | { readonly kind: "signed-out" };

const BACKOFF: Backoff = { firstMs: 800, maxMs: 15_000, jitter: 0.5 };
/** A stream that says nothing for this long is dead: two signs of life did not come. */
export const SILENCE_MAX_MS = (2 * STREAM_LIMITS.keepAliveSeconds + 10) * 1_000;

/** Milliseconds before try `attempt` (1 is the first after a failure); `chance` lies in 0…1. */
export function retryDelay(attempt: number, chance: number): number {
  // Never less than the first delay, so that many pages do not come back at once.
  return Math.max(BACKOFF.firstMs, backoffMs(BACKOFF, attempt - 1, chance));
}

/** Words of the pill; undefined when it is not shown. */
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
