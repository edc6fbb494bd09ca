/**
 * The rate limit of the basic driver: at most 8 failed attempts of one client in a minute, counted
 * before the password is looked at, so that a burst of parallel guesses gets no more. Bounded memory.
 * One bucket serves the form and the `Authorization: Basic` header (spec "Login drivers").
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";
import type { Clock } from "core/ports.ts";

/** An attempt that may go on. */
export interface Attempt {
  /** Takes the attempt out of the count, because it was right (or never looked at). */
  forgive(): void;
}

/** The counter. */
export interface Attempts {
  /** Counts an attempt as failed until it is forgiven; seconds to wait when there are too many. */
  begin(client: string): Attempt | { readonly retryAfterSeconds: number };
  /** How many clients are remembered. */
  size(): number;
}

/** Creates an empty counter. */
export function createAttempts(clock: Pick<Clock, "monotonic">): Attempts {
  const { failedAttemptsMax, clientsKept } = LOGIN_LIMITS;
  const windowMs = LOGIN_LIMITS.failedWindowSeconds * 1000;
  /** In the order of each client's last attempt. */
  const failures = new Map<string, { readonly at: number }[]>();

  const live = (client: string, now: number) =>
    (failures.get(client) ?? []).filter(({ at }) => now - at < windowMs);
  const keep = (client: string, list: { readonly at: number }[]) => {
    failures.delete(client);
    if (list.length > 0) failures.set(client, list);
  };
  const makeRoom = (now: number) => {
    for (const [client] of failures) {
      if (failures.size < clientsKept && live(client, now).length > 0) return;
      failures.delete(client);
    }
  };
  return {
    begin: (client) => {
      const now = clock.monotonic();
      const list = live(client, now);
      const oldest = list[0];
      if (list.length >= failedAttemptsMax && oldest !== undefined) {
        keep(client, list);
        return { retryAfterSeconds: Math.ceil((oldest.at + windowMs - now) / 1000) };
      }
      if (!failures.has(client) && failures.size >= clientsKept) makeRoom(now);
      const own = { at: now };
      keep(client, [...list, own]);
      return {
        forgive: () => keep(client, (failures.get(client) ?? []).filter((one) => one !== own)),
      };
    },
    size: () => failures.size,
  };
}
