/**
 * The rate limit of the basic driver: at most 8 failed attempts of one client in a minute (spec "Login
 * drivers"), counted before the password is looked at, so that a burst of parallel guesses gets no more.
 * One bucket serves the form and the `Authorization: Basic` header.
 *
 * An IPv6 client is a /64; the networks around it have rising limits, because a /48 is easily had. An account
 * has a limit too, for clients that were never right there; whoever was right before is not locked out by
 * strangers. Memory is bounded, and names that are no account share buckets.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";
import type { Clock } from "core/ports.ts";

/** An attempt that may go on. */
export interface Attempt {
  /** Takes the attempt out of the count, because it was right. */
  forgive(): void;
  /** Takes it out of the count because nothing was looked at; nobody is known better for it. */
  withdraw(): void;
}

/** The counter. */
export interface Attempts {
  /**
   * Counts an attempt as failed until it is forgiven; seconds to wait when there are too many.
   * `client` is the client's own key and those of the networks around it, narrowest first.
   */
  begin(
    client: readonly string[],
    account: string,
  ): Attempt | { readonly retryAfterSeconds: number };
  /** How many counts are remembered. */
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

/** Creates an empty counter; `isAccount` tells the names that somebody has. */
export function createAttempts(
  clock: Pick<Clock, "monotonic">,
  isAccount: (name: string) => boolean,
): Attempts {
  const { clientsKept, failedWindowSeconds, accountWindowSeconds, accountFailuresMax } =
    LOGIN_LIMITS;
  const clients = createCounts(clientsKept, failedWindowSeconds * 1000);
  // One more than there can be: an account must never make room for another.
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

/** Marks per key within a sliding window, keys in the order of their last mark. */
function createCounts(keysMax: number, windowMs: number) {
  const counts = new Map<string, Mark[]>();
  /** Drops what has passed; the list is the one that is kept. */
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
    /** Milliseconds until another one may fail; 0 when it may now. */
    wait: (key: string, max: number, now: number): number => {
      const marks = live(key, now);
      const [oldest] = marks;
      if (marks.length < max || oldest === undefined) return 0;
      // Who goes on is remembered before who has stopped.
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

/** FNV-1a: names that are nobody's need no better spread. */
function bucketOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % LOGIN_LIMITS.unknownBuckets;
}
