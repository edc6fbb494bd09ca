/**
 * When a dial unit tries again. No clock, no randomness: both are passed in.
 * Full jitter over a doubling ladder; the ladder starts over only after a connection that stayed
 * up, so that a gateway which accepts and drops at once is not hammered.
 *
 * @module
 */

import { type Backoff, backoffMs } from "core/concurrency/backoff.ts";
import { CLOSE } from "core/dial/frames.ts";
import { BACKOFF_LIMITS } from "units/dial/limits.ts";

/** How the last try ended. */
export interface LastTry {
  /** Close code; 1006 when the connection was lost or never made. */
  readonly code: number;
  /** How long the connection was registered, in milliseconds; 0 when it never was. */
  readonly registeredMs: number;
  /** The gateway's own wish, from its `closing` frame. */
  readonly retryAfterMs?: number;
  /** The gateway's answer, when it refused before there was a connection, and what helps. */
  readonly refused?: { readonly status: number; readonly reason?: string; readonly hint?: string };
}

/** The ladder's place and the wait before the next try. */
export interface NextTry {
  /** Failed tries in a row; pass it in again. */
  readonly attempt: number;
  readonly delayMs: number;
}

/** Waits between two tries of a dial unit. */
export const DIAL_BACKOFF: Backoff = { ...BACKOFF_LIMITS, jitter: 1 };

/**
 * Decides the wait after a try. A planned close carries its own wait; an agent that was replaced by
 * another connection waits a whole top step, or two dial units of one agent would push each other
 * out as fast as they can.
 */
export function decideRetry(last: LastTry, attempt: number, fraction: number): NextTry {
  if (last.retryAfterMs !== undefined) {
    const wish = Math.min(Math.max(last.retryAfterMs, 0), BACKOFF_LIMITS.maxMs);
    return { attempt: 0, delayMs: wish };
  }
  if (last.code === CLOSE.replaced) {
    return { attempt: attempt + 1, delayMs: BACKOFF_LIMITS.maxMs };
  }
  const place = last.registeredMs >= BACKOFF_LIMITS.stableMs ? 0 : attempt;
  return { attempt: place + 1, delayMs: backoffMs(DIAL_BACKOFF, place, fraction) };
}
