/**
 * Refreshes in progress: tabs that send the same reference concurrently share one refresh and its
 * outcome. The outcome is kept for a few seconds. So a tab that sends the same reference a moment
 * later does not count as reuse, which would end the session's family. At most 1,024 outcomes are
 * kept; the oldest are deleted first.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import { createTtlCache } from "core/ttl_cache.ts";

/** The outcome of a refresh. */
export type RefreshOutcome =
  /** `Set-Cookie` headers of the new session and the new reference. */
  | { readonly kind: "done"; readonly cookies: readonly string[] }
  | { readonly kind: "refused" }
  /** The provider did not answer. */
  | { readonly kind: "away" };

/** The refreshes in progress. */
export interface SharedRefreshes {
  /** Runs `work` once per reference. */
  share(
    reference: string,
    work: () => Promise<RefreshOutcome>,
  ): Promise<RefreshOutcome>;
}

const KEPT_MS = 10_000;
const KEPT_MAX = 1_024;

/** Creates an empty set. */
export function createSharedRefreshes(clock: Pick<Clock, "monotonic">): SharedRefreshes {
  // Bounded by the requests in progress.
  const running = new Map<string, Promise<RefreshOutcome>>();
  const settled = createTtlCache<Promise<RefreshOutcome>>(KEPT_MAX);
  return {
    share: (reference, work) => {
      const found = running.get(reference) ?? settled.get(reference, clock.monotonic());
      if (found !== undefined) return found;
      const outcome = work();
      running.set(reference, outcome);
      // The time starts with the outcome: the provider may take longer than `KEPT_MS` to answer.
      const settle = () => {
        running.delete(reference);
        settled.keep(reference, outcome, clock.monotonic() + KEPT_MS);
      };
      outcome.then(settle, settle);
      return outcome;
    },
  };
}
