/**
 * Refreshes that are under way: tabs that come with one reference at once share one refresh and its
 * outcome, for a few seconds, so that an honest browser never looks like a thief. Bounded.
 *
 * @module
 */

import type { Clock } from "core/ports.ts";

/** What a refresh came to. */
export type Refreshed =
  /** `Set-Cookie` headers of the new session and the new reference. */
  | { readonly kind: "done"; readonly cookies: readonly string[] }
  | { readonly kind: "refused" }
  /** The provider is away and has said nothing. */
  | { readonly kind: "away" };

/** The refreshes. */
export interface Refreshing {
  /** Runs `work` once per reference. */
  share(
    reference: string,
    work: () => Promise<Refreshed>,
  ): Promise<Refreshed>;
}

const KEPT_MS = 10_000;
const KEPT_MAX = 1_024;

/** Creates an empty set. */
export function createRefreshing(clock: Pick<Clock, "monotonic">): Refreshing {
  const kept = new Map<
    string,
    { readonly outcome: Promise<Refreshed>; readonly until: number }
  >();
  return {
    share: (reference, work) => {
      const now = clock.monotonic();
      for (const [key, { until }] of kept) {
        if (until > now && kept.size < KEPT_MAX) break;
        kept.delete(key);
      }
      const found = kept.get(reference);
      if (found !== undefined) return found.outcome;
      const outcome = work();
      kept.set(reference, { outcome, until: now + KEPT_MS });
      return outcome;
    },
  };
}
