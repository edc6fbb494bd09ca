/**
 * What is open on behalf of a session: streams, sockets, requests. Ending the session, or reaching
 * its expiry, cuts all of them at once (decision 19). Memory only.
 *
 * @module
 */

import { Cut } from "core/cut.ts";
import { createDeadlines } from "core/deadlines.ts";
import type { Clock } from "core/ports.ts";

/** One open request, stream or socket. */
export interface Lease {
  /** Cut when the session has ended; its owner may cut it too. */
  readonly cut: Cut;
  /** Gives the lease back; idempotent. */
  release(): void;
}

/** All leases. */
export interface Leases {
  /** Takes a lease; `expires` is in milliseconds since the epoch. */
  take(of: { readonly id: string; readonly expires: number }): Lease;
  /** Ids of the sessions that something is open for. */
  sessions(): readonly string[];
  /** Cuts everything of a session. */
  cut(id: string): void;
  cutAll(): void;
  count(): number;
}

/** Reason of a cut by the end of a session. */
export const SESSION_ENDED = "session-ended";

/**
 * Creates an empty set; `onTake` is called with each lease that is taken, and `endOf` tells whether a
 * session that was to end now has been used since.
 */
export function createLeases(
  clock: Pick<Clock, "now" | "after">,
  onTake: () => void = () => {},
  endOf: (id: string) => number | undefined = () => undefined,
): Leases {
  const open = new Map<string, Set<Cut>>();
  const deadlines = createDeadlines(clock.now, clock.after);
  const end = (id: string) => {
    const cuts = open.get(id);
    open.delete(id);
    for (const cut of cuts ?? []) cut.cut(SESSION_ENDED);
  };
  return {
    take: ({ id, expires }) => {
      const cut = new Cut();
      const own = open.get(id) ?? new Set();
      open.set(id, own.add(cut));
      onTake();
      let inTime = () => {};
      const until = (at: number) => {
        inTime = deadlines.add(at, () => {
          const later = endOf(id);
          if (later !== undefined && later > clock.now()) return until(later);
          release();
          cut.cut(SESSION_ENDED);
        });
      };
      const release = () => {
        inTime();
        own.delete(cut);
        if (own.size === 0 && open.get(id) === own) open.delete(id);
      };
      until(expires);
      return { cut, release };
    },
    sessions: () => [...open.keys()],
    cut: end,
    cutAll: () => {
      deadlines.close();
      for (const id of [...open.keys()]) end(id);
    },
    count: () => [...open.values()].reduce((sum, own) => sum + own.size, 0),
  };
}
