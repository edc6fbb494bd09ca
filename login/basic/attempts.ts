/**
 * The rate limit of the basic driver: at most 8 failed attempts per client and minute. Attempts
 * count before the password check, so parallel guesses gain nothing. The form and the
 * `Authorization: Basic` header share one bucket.
 *
 * An IPv6 client is a /64; larger networks have higher limits, because a /48 is easy to get.
 * Accounts have a limit too, for clients that never logged in to them, so that strangers cannot
 * lock out a known client. Memory is bounded, and unknown names share buckets.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits/login.ts";
import type { Clock } from "core/ports/clock.ts";

/** An attempt that may proceed. */
export interface Attempt {
  /** Uncounts the attempt because the password was right; the client is then known. */
  forgive(): void;
  /** Uncounts the attempt because the password was not checked. */
  withdraw(): void;
}

/** The counter. */
export interface Attempts {
  /**
   * Counts an attempt as failed until it is forgiven; returns seconds to wait if there are too
   * many. `client` lists the keys of the client and its networks, narrowest first.
   */
  begin(
    client: readonly string[],
    account: string,
  ): Attempt | { readonly retryAfterSeconds: number };
  /** Number of stored counts. */
  size(): number;
}

/** Failed attempts of a client, of its /56 and of its /48. */
const CLIENT_MAX = [
  LOGIN_LIMITS.failedAttemptsMax,
  LOGIN_LIMITS.failedAttemptsMax * 4,
  LOGIN_LIMITS.failedAttemptsMax * 16,
] as const;

interface Mark {
  readonly at: number;
}

/** Creates an empty counter; `isAccount` returns whether a name is an account. */
export function createAttempts(
  clock: Pick<Clock, "monotonic">,
  isAccount: (name: string) => boolean,
): Attempts {
  const { clientsKept, failedWindowSeconds, accountWindowSeconds, accountFailuresMax } =
    LOGIN_LIMITS;
  const clients = createCounts(clientsKept, failedWindowSeconds * 1000);
  // Unbounded: accounts are a fixed set, and one must never evict another.
  const accounts = createCounts(Infinity, accountWindowSeconds * 1000);
  const known = new Set<string>();
  return {
    begin: (client, account) => {
      const now = clock.monotonic();
      const bucket = isAccount(account) ? `a/${account}` : `u/${bucketOf(account)}`;
      const pair = `${client[0] ?? ""} ${account}`;
      const isKnown = known.has(pair);
      const waits = [
        ...client.map((key, level) => clients.wait(key, CLIENT_MAX[level] ?? Infinity, now)),
        isKnown ? 0 : accounts.wait(bucket, accountFailuresMax, now),
      ];
      const wait = Math.max(...waits);
      if (wait > 0) return { retryAfterSeconds: Math.ceil(wait / 1000) };
      const mark = { at: now };
      for (const key of client) clients.add(key, mark);
      if (!isKnown) accounts.add(bucket, mark);
      const withdraw = () => {
        for (const key of client) clients.remove(key, mark);
        accounts.remove(bucket, mark);
      };
      return {
        withdraw,
        forgive: () => {
          withdraw();
          known.delete(pair);
          const [oldest] = known;
          if (known.size >= LOGIN_LIMITS.knownClientsKept && oldest !== undefined) {
            known.delete(oldest);
          }
          known.add(pair);
        },
      };
    },
    size: () => clients.size() + accounts.size(),
  };
}

/** Marks per key within a sliding window, least recently marked keys first. */
function createCounts(keysMax: number, windowMs: number) {
  const counts = new Map<string, Mark[]>();
  /** Removes expired marks in place. */
  const live = (key: string, now: number): Mark[] => {
    const marks = counts.get(key) ?? [];
    const first = marks.findIndex(({ at }) => now - at < windowMs);
    if (first !== 0) marks.splice(0, first === -1 ? marks.length : first);
    return marks;
  };
  const makeRoom = (now: number) => {
    for (const [key] of counts) {
      if (counts.size < keysMax && live(key, now).length > 0) return;
      counts.delete(key);
    }
  };
  return {
    /** Milliseconds until the next attempt is allowed; 0 if it is allowed now. */
    wait: (key: string, max: number, now: number): number => {
      const marks = live(key, now);
      const [oldest] = marks;
      if (marks.length < max || oldest === undefined) return 0;
      // Evict inactive clients before active ones.
      counts.delete(key);
      counts.set(key, marks);
      return oldest.at + windowMs - now;
    },
    add: (key: string, mark: Mark) => {
      if (!counts.has(key) && counts.size >= keysMax) makeRoom(mark.at);
      const marks = live(key, mark.at);
      marks.push(mark);
      counts.delete(key);
      counts.set(key, marks);
    },
    remove: (key: string, mark: Mark) => {
      const marks = counts.get(key) ?? [];
      const at = marks.indexOf(mark);
      if (at !== -1) marks.splice(at, 1);
      if (marks.length === 0) counts.delete(key);
    },
    size: () => counts.size,
  };
}

/** FNV-1a: unknown names need no stronger hash. */
function bucketOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % LOGIN_LIMITS.unknownBuckets;
}
