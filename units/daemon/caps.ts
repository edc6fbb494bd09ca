/**
 * Limits what one uid may use of the daemon at a time: connections, and requests per second. A
 * connection over a limit is refused at once and does not slow down others. No I/O; the caller
 * passes `now`. `units/daemon/verb_queue.ts` limits running verbs.
 *
 * A user can have many sub-uids at no cost, so all sub-uids share one entry.
 *
 * @module
 */

import { DAEMON_LIMITS } from "core/limits/daemon.ts";

/** Why a connection is not served. */
export type CapRefusal = "connections" | "rate" | "full";

/** The answer about a new connection. The caller must call `close` for each admitted connection. */
export type Admission =
  | { readonly admitted: true }
  | {
    readonly admitted: false;
    readonly why: CapRefusal;
    /**
     * True for the first refusal of this uid and reason in a while. Only that one is logged, so
     * that a flood does not fill the log.
     */
    readonly isNews: boolean;
  };

/** The limits of a running daemon. */
export interface Caps {
  open(uid: number, now: number): Admission;
  close(uid: number): void;
}

interface Place {
  connections: number;
  /** Requests that may arrive at once. */
  tokens: number;
  filledAt: number;
  toldAt: Partial<Record<CapRefusal, number>>;
}

/** First uid of the ranges that `subuid(5)` hands out (Debian's SUB_UID_MIN). */
const SUB_UID_FIRST = 100_000;
/** Not a valid uid, so it can be the key of the entry that all sub-uids share. */
const SUB_UIDS = -1;
const ROOT = 0;
/**
 * Connections of root. The limit is high because an operator's scripts may send many requests at
 * once.
 */
const CONNECTIONS_OF_ROOT_MAX = 256;

/** Creates the limits. */
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

  /** Drops the entries that have no connection and a full set of tokens: they carry no state. */
  function forget(now: number): void {
    for (const [key, place] of places) {
      fill(place, now);
      const isFull = place.tokens >= DAEMON_LIMITS.requestsBurst;
      if (place.connections === 0 && isFull) places.delete(key);
    }
  }

  function refusalOf(uid: number, place: Place): CapRefusal | undefined {
    if (place.connections >= connectionsMaxOf(uid)) return "connections";
    // The total and the rate do not apply to root. Otherwise other users could lock out the person
    // who repairs the host.
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

/** The key under which a uid is counted. All sub-uids have the same key. */
export function keyOf(uid: number): number {
  return uid >= SUB_UID_FIRST ? SUB_UIDS : uid;
}

function fill(place: Place, now: number): void {
  const seconds = Math.max(0, now - place.filledAt) / 1_000;
  const filled = place.tokens + seconds * DAEMON_LIMITS.requestsPerSecond;
  place.tokens = Math.min(DAEMON_LIMITS.requestsBurst, filled);
  place.filledAt = now;
}
