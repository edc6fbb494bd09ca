/**
 * Rate limits of a conversation, or of all requests. Each sliding window limits the number of
 * requests in it. Pure: times are arguments.
 *
 * Source: Teams "Optimize your bot with rate limiting".
 *
 * @module
 */

/** At most `count` requests in any `ms` milliseconds. */
export interface PaceWindow {
  readonly count: number;
  readonly ms: number;
}

/** Limits for sends into one conversation. */
export const CONVERSATION_WINDOWS: readonly PaceWindow[] = [
  { count: 7, ms: 1_000 },
  { count: 8, ms: 2_000 },
  { count: 60, ms: 30_000 },
  { count: 1_800, ms: 3_600_000 },
];

/** Records requests and computes when the next one may be sent. */
export interface Pace {
  /** Milliseconds to wait before a request at `nowMs`; 0 when it may be sent. */
  waitMs(nowMs: number): number;
  /** Records a request. */
  countEntry(nowMs: number): void;
  /** Whether no recorded request affects a limit any longer. */
  isIdle(nowMs: number): boolean;
}

/** Creates an empty record; the highest count decides how many requests it keeps. */
export function createPace(windows: readonly PaceWindow[]): Pace {
  const sentMs: number[] = [];
  const keptMax = Math.max(...windows.map(({ count }) => count));
  const longestMs = Math.max(...windows.map(({ ms }) => ms));
  return {
    waitMs: (nowMs) => {
      let waitMs = 0;
      for (const { count, ms } of windows) {
        // Checked first: this runs for every request, and reading a negative index is slow.
        if (sentMs.length < count) continue;
        const oldest = sentMs[sentMs.length - count] ?? -Infinity;
        waitMs = Math.max(waitMs, oldest + ms - nowMs);
      }
      return waitMs;
    },
    countEntry: (nowMs) => {
      sentMs.push(nowMs);
      if (sentMs.length > keptMax * 2) sentMs.splice(0, sentMs.length - keptMax);
    },
    isIdle: (nowMs) => {
      const last = sentMs[sentMs.length - 1];
      return last === undefined || nowMs - last > longestMs;
    },
  };
}
