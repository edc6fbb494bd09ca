/**
 * When the next request of a conversation may go out (Bot Framework "Rate limiting for bots").
 * Pure: times are passed in. Sliding windows: each bounds how many requests fall into it.
 *
 * @module
 */

/** At most `count` requests in any `ms` milliseconds. */
export interface PaceWindow {
  readonly count: number;
  readonly ms: number;
}

/** Sends into one conversation. */
export const CONVERSATION_WINDOWS: readonly PaceWindow[] = [
  { count: 7, ms: 1_000 },
  { count: 8, ms: 2_000 },
  { count: 60, ms: 30_000 },
  { count: 1_800, ms: 3_600_000 },
];

/** Remembers requests and says when the next may go. */
export interface Pace {
  /** Milliseconds to wait before a request at `nowMs`; 0 when it may go. */
  waitMs(nowMs: number): number;
  /** Notes a request. */
  took(nowMs: number): void;
  /** Nothing that is remembered matters any more. */
  isIdle(nowMs: number): boolean;
}

/** Makes an empty memory for the windows; the longest decides how much is kept. */
export function createPace(windows: readonly PaceWindow[]): Pace {
  const taken: number[] = [];
  const keptMax = Math.max(...windows.map(({ count }) => count));
  const longestMs = Math.max(...windows.map(({ ms }) => ms));
  return {
    waitMs: (nowMs) => {
      let waitMs = 0;
      for (const { count, ms } of windows) {
        // Asked for each request, and a place before the first is looked for slowly.
        if (taken.length < count) continue;
        const oldest = taken[taken.length - count] ?? -Infinity;
        waitMs = Math.max(waitMs, oldest + ms - nowMs);
      }
      return waitMs;
    },
    took: (nowMs) => {
      taken.push(nowMs);
      if (taken.length > keptMax * 2) taken.splice(0, taken.length - keptMax);
    },
    isIdle: (nowMs) => {
      const last = taken[taken.length - 1];
      return last === undefined || nowMs - last > longestMs;
    },
  };
}
