/**
 * Open requests, streams and sockets of a session. All are aborted when the session ends or
 * expires. Memory only.
 *
 * @module
 */

import { AbortHandle } from "login/abort_handle.ts";
import { createDeadlines } from "login/deadlines.ts";
import type { Clock } from "core/ports/clock.ts";

/** One open request, stream or socket. */
export interface Lease {
  /** Aborted when the session ends; its holder may abort it too. */
  readonly abortHandle: AbortHandle;
  /** Releases the lease; idempotent. */
  release(): void;
}

/** All leases. */
export interface Leases {
  /** Acquires a lease; `expires` is in milliseconds since the epoch. */
  acquire(of: { readonly id: string; readonly expires: number }): Lease;
  /** Ids of the sessions with open leases. */
  sessions(): readonly string[];
  /** Aborts all leases of a session. */
  abort(id: string): void;
  abortAll(): void;
  count(): number;
}

/** Abort reason of a lease whose session has ended. */
export const SESSION_ENDED = "session-ended";

/**
 * Creates an empty set. `onTake` is called for each acquired lease. `endOf` returns the current
 * expiry of a session, which each use of the session extends; undefined if it has ended.
 */
export function createLeases(
  clock: Pick<Clock, "now" | "after">,
  onTake: () => void = () => {},
  endOf: (id: string) => number | undefined = () => undefined,
): Leases {
  const open = new Map<string, Set<AbortHandle>>();
  const deadlines = createDeadlines(clock.now, clock.after);
  const end = (id: string) => {
    const handles = open.get(id);
    open.delete(id);
    for (const abortHandle of handles ?? []) abortHandle.abort(SESSION_ENDED);
  };
  return {
    acquire: ({ id, expires }) => {
      const abortHandle = new AbortHandle();
      const own = open.get(id) ?? new Set();
      open.set(id, own.add(abortHandle));
      onTake();
      let inTime = () => {};
      const until = (at: number) => {
        inTime = deadlines.add(at, () => {
          const later = endOf(id);
          if (later !== undefined && later > clock.now()) return until(later);
          release();
          abortHandle.abort(SESSION_ENDED);
        });
      };
      const release = () => {
        inTime();
        own.delete(abortHandle);
        if (own.size === 0 && open.get(id) === own) open.delete(id);
      };
      until(expires);
      return { abortHandle, release };
    },
    sessions: () => [...open.keys()],
    abort: end,
    abortAll: () => {
      deadlines.close();
      for (const id of [...open.keys()]) end(id);
    },
    count: () => [...open.values()].reduce((sum, own) => sum + own.size, 0),
  };
}
