/**
 * Refreshes that are under way: tabs that come with one reference at once share one refresh and its
 * outcome, until a few seconds after it, so that an honest browser never looks like a thief. Bounded.
 *
 * @module
 */

import type { Clock } from "core/ports.ts";
import { createRecent } from "core/recent.ts";

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
  // As many as there are requests under way; what has settled is bounded by itself.
  const running = new Map<string, Promise<Refreshed>>();
  const settled = createRecent<Promise<Refreshed>>(KEPT_MAX);
  return {
    share: (reference, work) => {
      const found = running.get(reference) ?? settled.get(reference, clock.monotonic());
      if (found !== undefined) return found;
      const outcome = work();
      running.set(reference, outcome);
      // Not from its start on: a provider may take longer than this to answer.
      const settle = () => {
        running.delete(reference);
        settled.keep(reference, outcome, clock.monotonic() + KEPT_MS);
      };
      outcome.then(settle, settle);
      return outcome;
    },
  };
}
