/**
 * A fair semaphore: lets waiting keys pass round-robin. A key with a thousand waiters delays a key
 * with one waiter by a single entry. Concurrency is limited in total and per key; a pace may limit
 * the rate. No I/O, the clock is a parameter.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/** A rate limit: when the next entry may pass, and a record of each entry. */
export interface SemaphorePace {
  /** Returns milliseconds to wait at `nowMs`; 0 when an entry may pass. */
  waitMs(nowMs: number): number;
  countEntry(nowMs: number): void;
}

/** Settings and dependencies of a fair semaphore. */
export interface FairSemaphoreOptions {
  /** Most entries inside at once, in total and per key. */
  readonly max: number;
  readonly maxPerKey: number;
  readonly pace?: SemaphorePace;
  readonly clock: Pick<Clock, "monotonic" | "after">;
}

/** A fair semaphore. */
export interface FairSemaphore {
  /**
   * Resolves when `key` may pass, with a function to call when its work ends. Resolves with
   * undefined if `signal` aborts the wait first.
   */
  acquire(key: string, signal?: AbortSignal): Promise<(() => void) | undefined>;
  /** Returns the number of waiters, in total or of one key. */
  waiting(key?: string): number;
}

type Waiter = (release: (() => void) | undefined) => void;

/** Creates a fair semaphore. */
export function createFairSemaphore(
  { max, maxPerKey, pace, clock }: FairSemaphoreOptions,
): FairSemaphore {
  /** Waiters by key, in the order of their turns; a key is removed with its last waiter. */
  const waiters = new Map<string, Waiter[]>();
  const held = new Map<string, number>();
  let count = 0;
  let stopTimer: (() => void) | undefined;

  function pump(): void {
    while (count < max) {
      const key = first();
      if (key === undefined) return;
      const now = clock.monotonic();
      const waitMs = pace?.waitMs(now) ?? 0;
      if (waitMs > 0) return arm(waitMs);
      pace?.countEntry(now);
      const queue = waiters.get(key) ?? [];
      const waiter = queue.shift();
      // Re-insert the key at the end, so that the other keys come first.
      waiters.delete(key);
      if (queue.length > 0) waiters.set(key, queue);
      count++;
      held.set(key, (held.get(key) ?? 0) + 1);
      waiter?.(releaseOnce(key));
    }
  }

  /** Returns the first key that is below its own limit. */
  function first(): string | undefined {
    for (const key of waiters.keys()) if ((held.get(key) ?? 0) < maxPerKey) return key;
    return undefined;
  }

  function arm(waitMs: number): void {
    stopTimer ??= clock.after(waitMs, () => {
      stopTimer = undefined;
      pump();
    });
  }

  function releaseOnce(key: string): () => void {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      count--;
      const rest = (held.get(key) ?? 1) - 1;
      if (rest === 0) held.delete(key);
      else held.set(key, rest);
      pump();
    };
  }

  function giveUp(key: string, waiter: Waiter): void {
    const rest = (waiters.get(key) ?? []).filter((each) => each !== waiter);
    if (rest.length === 0) waiters.delete(key);
    else waiters.set(key, rest);
    if (waiters.size === 0) {
      stopTimer?.();
      stopTimer = undefined;
    }
    waiter(undefined);
  }

  /** Lets `key` pass if no key waits and there is room; returns undefined if it has to wait. */
  function tryAcquire(key: string): (() => void) | undefined {
    const own = held.get(key) ?? 0;
    if (waiters.size > 0 || count >= max || own >= maxPerKey) return undefined;
    const now = clock.monotonic();
    if ((pace?.waitMs(now) ?? 0) > 0) return undefined;
    pace?.countEntry(now);
    count++;
    held.set(key, own + 1);
    return releaseOnce(key);
  }

  return {
    acquire: async (key, signal) => {
      if (signal?.aborted === true) return undefined;
      const passed = tryAcquire(key);
      if (passed !== undefined) return passed;
      const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>();
      const queue = waiters.get(key) ?? [];
      queue.push(resolve);
      waiters.set(key, queue);
      const onAbort = () => giveUp(key, resolve);
      signal?.addEventListener("abort", onAbort, { once: true });
      pump();
      const release = await promise;
      signal?.removeEventListener("abort", onAbort);
      return release;
    },
    waiting: (key) =>
      key === undefined
        ? [...waiters.values()].reduce((sum, queue) => sum + queue.length, 0)
        : waiters.get(key)?.length ?? 0,
  };
}
