/**
 * What is open on behalf of a session: streams, sockets, requests. Ending the session, or reaching
 * its expiry, cuts all of them at once (decision 19). Memory only.
 *
 * @module
 */

import type { Clock } from "core/ports.ts";

/** One open request, stream or socket. */
export interface Lease {
  /** Aborts when the session has ended. */
  readonly signal: AbortSignal;
  /** Gives the lease back; idempotent. */
  release(): void;
}

/** All leases. */
export interface Leases {
  /** Takes a lease; `expires` is in milliseconds since the epoch. */
  take(of: { readonly id: string; readonly expires: number }): Lease;
  /** Cuts everything of a session. */
  cut(id: string): void;
  cutAll(): void;
  count(): number;
}

/** Longest wait of one timer; longer ones would overflow where timers count in 31 bits. */
const TIMER_MS_MAX = 86_400_000;

/** Creates an empty set. */
export function createLeases(clock: Pick<Clock, "now" | "after">): Leases {
  const open = new Map<string, Set<AbortController>>();
  const cut = (id: string) => {
    const controllers = open.get(id);
    open.delete(id);
    for (const controller of controllers ?? []) {
      controller.abort(new DOMException("The session has ended", "AbortError"));
    }
  };
  return {
    take: ({ id, expires }) => {
      const controller = new AbortController();
      const own = open.get(id) ?? new Set();
      open.set(id, own.add(controller));
      let cancel = () => {};
      const release = () => {
        cancel();
        own.delete(controller);
        if (own.size === 0 && open.get(id) === own) open.delete(id);
      };
      const watch = () => {
        const left = expires - clock.now();
        if (left <= 0) {
          release();
          controller.abort(new DOMException("The session has expired", "AbortError"));
        } else cancel = clock.after(Math.min(left, TIMER_MS_MAX), watch);
      };
      watch();
      controller.signal.addEventListener("abort", () => cancel(), { once: true });
      return { signal: controller.signal, release };
    },
    cut,
    cutAll: () => {
      for (const id of [...open.keys()]) cut(id);
    },
    count: () => [...open.values()].reduce((sum, own) => sum + own.size, 0),
  };
}
