/**
 * When a dial unit reconnects. No clock, no randomness: the caller passes both in. Delays double
 * and have full jitter. They start over only after a connection that stayed up, so that a gateway
 * which accepts and drops at once is not flooded.
 *
 * @module
 */

import { type Backoff, backoffMs } from "core/concurrency/backoff.ts";
import { CLOSE } from "core/dial/frames.ts";
import { BACKOFF_LIMITS } from "units/dial/limits.ts";

/** How the last attempt ended. */
export interface LastTry {
  /** Close code; 1006 when the connection was lost or never established. */
  readonly code: number;
  /** How long the connection was registered, in milliseconds; 0 when it never was. */
  readonly registeredMs: number;
  /** The delay that the gateway requested in its `closing` frame. */
  readonly retryAfterMs?: number;
  /** The gateway's answer when it refused the upgrade, with a hint about what helps. */
  readonly refused?: { readonly status: number; readonly reason?: string; readonly hint?: string };
}

/** The attempt counter and the delay before the next attempt. */
export interface NextTry {
  /** Failed attempts in a row; pass it in again. */
  readonly attempt: number;
  readonly delayMs: number;
}

/** Delays between two attempts of a dial unit. */
export const DIAL_BACKOFF: Backoff = { ...BACKOFF_LIMITS, jitter: 1 };

/**
 * Decides the delay after an attempt. A planned close carries its own delay. An agent that was
 * replaced by another connection waits for the longest delay. Otherwise two dial units of one agent
 * would keep replacing each other.
 */
export function decideRetry(last: LastTry, attempt: number, fraction: number): NextTry {
  if (last.retryAfterMs !== undefined) {
    const wish = Math.min(Math.max(last.retryAfterMs, 0), BACKOFF_LIMITS.maxMs);
    return { attempt: 0, delayMs: wish };
  }
  if (last.code === CLOSE.replaced) {
    return { attempt: attempt + 1, delayMs: BACKOFF_LIMITS.maxMs };
  }
  const failures = last.registeredMs >= BACKOFF_LIMITS.stableMs ? 0 : attempt;
  return { attempt: failures + 1, delayMs: backoffMs(DIAL_BACKOFF, failures, fraction) };
}
