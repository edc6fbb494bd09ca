/**
 * Whether a failed model call is retried, and after which delay. Pure. Limited by attempts and by
 * total waiting time. A delay from `Retry-After` is respected in full, or the call is given up; it
 * is never shortened.
 *
 * @module
 */

import { backoffMs } from "core/concurrency/backoff.ts";
import type { ModelFault } from "units/agent_loop/model/fault.ts";

/** Limits of retrying one model call. */
export const RETRY_LIMITS = {
  attemptsMax: 5,
  /**
   * Lower than for other faults: an unreachable address seldom recovers soon, and the owner should
   * know.
   */
  unreachableAttemptsMax: 3,
  backoff: { firstMs: 1_000, maxMs: 30_000, jitter: 0.5 },
  /** Longest single delay that an endpoint may request. */
  retryAfterMsMax: 60_000,
  waitedMsMax: 180_000,
} as const;

/** What to do after a failed attempt. */
export type RetryDecision =
  | { readonly retry: true; readonly waitMs: number }
  | { readonly retry: false; readonly why: string };

/** Decides about attempt `attempt` (from 1); `jitter` is in [0, 1). */
export function decideRetry(
  fault: ModelFault,
  state: { readonly attempt: number; readonly waitedMs: number; readonly jitter: number },
): RetryDecision {
  if (!fault.isRetryable) return { retry: false, why: "" };
  if (state.attempt >= attemptsMax(fault)) {
    return { retry: false, why: `after ${state.attempt} attempts` };
  }
  if (fault.retryAfterMs !== undefined) {
    if (fault.retryAfterMs > RETRY_LIMITS.retryAfterMsMax) {
      const seconds = Math.ceil(fault.retryAfterMs / 1000);
      return { retry: false, why: `because it requests a wait of ${seconds} s` };
    }
    return withinTotal(fault.retryAfterMs, state.waitedMs);
  }
  const waitMs = backoffMs(RETRY_LIMITS.backoff, state.attempt - 1, state.jitter);
  return withinTotal(waitMs, state.waitedMs);
}

/** Returns the maximum number of attempts for such a fault. */
export function attemptsMax(fault: ModelFault): number {
  return fault.code === "model-unreachable"
    ? RETRY_LIMITS.unreachableAttemptsMax
    : RETRY_LIMITS.attemptsMax;
}

function withinTotal(waitMs: number, waitedMs: number): RetryDecision {
  return waitedMs + waitMs > RETRY_LIMITS.waitedMsMax
    ? { retry: false, why: `after waiting ${Math.round(waitedMs / 1000)} s` }
    : { retry: true, waitMs };
}
