/**
 * What one uid may take of the daemon at a time: connections, and requests per second. A connection
 * over a bound is refused at once, and others are not slowed down. No I/O; `now` comes in. Verbs
 * that run are bounded in `units/daemon/verb_queue.ts`.
 *
 * Uids of sub-uid ranges are many and cost nobody anything, so all of them share one place.
 *
 * @module
 */

import { DAEMON_LIMITS } from "core/limits/daemon.ts";

/** Why a connection is not served. */
export type CapRefusal = "connections" | "rate" | "full";

/** The answer about a new connection; who was admitted must be let go with `close`. */
export type Admission =
  | { readonly admitted: true }
  | {
    readonly admitted: false;
    readonly why: CapRefusal;
    /** The first of its uid and kind in a while: worth a line, where the others are a flood. */
    readonly isNews: boolean;
  };

/** The bounds of a running daemon. */
export interface Caps {
  open(uid: number, now: number): Admission;
  close(uid: number): void;
}

interface Place {
  connections: number;
  /** Requests that may come at once. */
  tokens: number;
  filledAt: number;
  toldAt: Partial<Record<CapRefusal, number>>;
}

/** First uid of the ranges that `subuid(5)` hands out (Debian's SUB_UID_MIN). */
const SUB_UID_FIRST = 100_000;
/** No uid can have this number, so it stands for all of those. */
const SUB_UIDS = -1;
const ROOT = 0;
/** Connections of root; scripts of an operator may ask for much at once. */
const CONNECTIONS_OF_ROOT_MAX = 256;

/** Creates the bounds. */
export function createCaps(): Caps {
  const places = new Map<number, Place>();
  let total = 0;

  function placeOf(uid: number, now: number): Place {
    const key = keyOf(uid);
    const found = places.get(key);
    if (found !== undefined) return found;
    if (places.size >= DAEMON_LIMITS.uidsKept) forget(now);
    const made: Place = {
      connections: 0,
      tokens: DAEMON_LIMITS.requestsBurst,
      filledAt: now,
      toldAt: {},
    };
    places.set(key, made);
    return made;
  }

  /** A place that nobody uses and whose tokens are full again says nothing. */
  function forget(now: number): void {
    for (const [key, place] of places) {
      fill(place, now);
      const isFull = place.tokens >= DAEMON_LIMITS.requestsBurst;
      if (place.connections === 0 && isFull) places.delete(key);
    }
  }

  function refusalOf(uid: number, place: Place): CapRefusal | undefined {
    if (place.connections >= connectionsMaxOf(uid)) return "connections";
    // Root comes in whatever the others do, or nobody could mend the host.
    if (uid === ROOT) return undefined;
    if (total >= DAEMON_LIMITS.connectionsMax) return "full";
    return place.tokens < 1 ? "rate" : undefined;
  }

  return {
    open(uid, now) {
      const place = placeOf(uid, now);
      fill(place, now);
      const why = refusalOf(uid, place);
      if (why === undefined) {
        place.connections++;
        place.tokens--;
        total++;
        return { admitted: true };
      }
      const told = place.toldAt[why];
      const isNews = told === undefined || now - told >= DAEMON_LIMITS.capNewsMs;
      if (isNews) place.toldAt[why] = now;
      return { admitted: false, why, isNews };
    },
    close(uid) {
      const place = places.get(keyOf(uid));
      if (place === undefined || place.connections === 0) return;
      place.connections--;
      total--;
    },
  };
}

/** Connections that a uid may have open. */
export function connectionsMaxOf(uid: number): number {
  return uid === ROOT ? CONNECTIONS_OF_ROOT_MAX : DAEMON_LIMITS.connectionsPerUidMax;
}

/** The number under which a uid is counted; all uids of sub-uid ranges have one. */
export function keyOf(uid: number): number {
  return uid >= SUB_UID_FIRST ? SUB_UIDS : uid;
}

function fill(place: Place, now: number): void {
  const seconds = Math.max(0, now - place.filledAt) / 1_000;
  const filled = place.tokens + seconds * DAEMON_LIMITS.requestsPerSecond;
  place.tokens = Math.min(DAEMON_LIMITS.requestsBurst, filled);
  place.filledAt = now;
}
