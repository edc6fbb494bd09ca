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
export type LimitReason = "connections" | "rate" | "full";

/** The answer about a new connection. The caller must call `close` for each admitted connection. */
export type Admission =
  | { readonly admitted: true }
  | {
    readonly admitted: false;
    readonly why: LimitReason;
    /**
     * True for the first refusal of this uid and reason in a while. Only that one is logged, so
     * that a flood does not fill the log.
     */
    readonly shouldLog: boolean;
  };

/** The limits of a running daemon. */
export interface UidLimits {
  open(uid: number, now: number): Admission;
  close(uid: number): void;
}

interface UidUsage {
  connections: number;
  /** Requests that may arrive at once. */
  tokens: number;
  filledAt: number;
  reportedAt: Partial<Record<LimitReason, number>>;
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
export function createUidLimits(): UidLimits {
  const usages = new Map<number, UidUsage>();
  let total = 0;

  function usageOf(uid: number, now: number): UidUsage {
    const key = keyOf(uid);
    const found = usages.get(key);
    if (found !== undefined) return found;
    if (usages.size >= DAEMON_LIMITS.uidsKept) forget(now);
    const made: UidUsage = {
      connections: 0,
      tokens: DAEMON_LIMITS.requestsBurst,
      filledAt: now,
      reportedAt: {},
    };
    usages.set(key, made);
    return made;
  }

  /** Drops the entries that have no connection and a full set of tokens: they carry no state. */
  function forget(now: number): void {
    for (const [key, usage] of usages) {
      fill(usage, now);
      const isFull = usage.tokens >= DAEMON_LIMITS.requestsBurst;
      if (usage.connections === 0 && isFull) usages.delete(key);
    }
  }

  function refusalOf(uid: number, usage: UidUsage): LimitReason | undefined {
    if (usage.connections >= connectionsMaxOf(uid)) return "connections";
    // The total and the rate do not apply to root. Otherwise other users could lock out the person
    // who repairs the host.
    if (uid === ROOT) return undefined;
    if (total >= DAEMON_LIMITS.connectionsMax) return "full";
    return usage.tokens < 1 ? "rate" : undefined;
  }

  return {
    open(uid, now) {
      const usage = usageOf(uid, now);
      fill(usage, now);
      const why = refusalOf(uid, usage);
      if (why === undefined) {
        usage.connections++;
        usage.tokens--;
        total++;
        return { admitted: true };
      }
      const last = usage.reportedAt[why];
      const shouldLog = last === undefined || now - last >= DAEMON_LIMITS.logIntervalMs;
      if (shouldLog) usage.reportedAt[why] = now;
      return { admitted: false, why, shouldLog };
    },
    close(uid) {
      const usage = usages.get(keyOf(uid));
      if (usage === undefined || usage.connections === 0) return;
      usage.connections--;
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

function fill(usage: UidUsage, now: number): void {
  const seconds = Math.max(0, now - usage.filledAt) / 1_000;
  const filled = usage.tokens + seconds * DAEMON_LIMITS.requestsPerSecond;
  usage.tokens = Math.min(DAEMON_LIMITS.requestsBurst, filled);
  usage.filledAt = now;
}
