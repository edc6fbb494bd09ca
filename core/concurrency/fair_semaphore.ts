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
export function createFairSemaphore(options: FairSemaphoreOptions): FairSemaphore {
  return new RoundRobinSemaphore(options);
}

class RoundRobinSemaphore implements FairSemaphore {
  readonly #options: FairSemaphoreOptions;
  /** Waiters by key, in the order of their turns; a key is removed with its last waiter. */
  readonly #waiters = new Map<string, Waiter[]>();
  readonly #held = new Map<string, number>();
  #count = 0;
  #stopTimer: (() => void) | undefined;

  constructor(options: FairSemaphoreOptions) {
    this.#options = options;
  }

  async acquire(key: string, signal?: AbortSignal): Promise<(() => void) | undefined> {
    if (signal?.aborted === true) return undefined;
    const passed = this.#tryAcquire(key);
    if (passed !== undefined) return passed;
    const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>();
    const queue = this.#waiters.get(key) ?? [];
    queue.push(resolve);
    this.#waiters.set(key, queue);
    const onAbort = () => this.#giveUp(key, resolve);
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#pump();
    const release = await promise;
    signal?.removeEventListener("abort", onAbort);
    return release;
  }

  waiting(key?: string): number {
    return key === undefined
      ? [...this.#waiters.values()].reduce((sum, queue) => sum + queue.length, 0)
      : this.#waiters.get(key)?.length ?? 0;
  }

  /** Lets `key` pass if no key waits and there is room; returns undefined if it has to wait. */
  #tryAcquire(key: string): (() => void) | undefined {
    const { max, maxPerKey, pace, clock } = this.#options;
    const isFull = this.#count >= max || this.#heldBy(key) >= maxPerKey;
    if (this.#waiters.size > 0 || isFull) return undefined;
    const now = clock.monotonic();
    if ((pace?.waitMs(now) ?? 0) > 0) return undefined;
    pace?.countEntry(now);
    return this.#enter(key);
  }

  #pump(): void {
    const { max, pace, clock } = this.#options;
    while (this.#count < max) {
      const key = this.#first();
      if (key === undefined) return;
      const now = clock.monotonic();
      const waitMs = pace?.waitMs(now) ?? 0;
      if (waitMs > 0) return this.#arm(waitMs);
      pace?.countEntry(now);
      const queue = this.#waiters.get(key) ?? [];
      const waiter = queue.shift();
      // Re-insert the key at the end, so that the other keys come first.
      this.#waiters.delete(key);
      if (queue.length > 0) this.#waiters.set(key, queue);
      waiter?.(this.#enter(key));
    }
  }

  /** Returns the first key that is below its own limit. */
  #first(): string | undefined {
    const { maxPerKey } = this.#options;
    for (const key of this.#waiters.keys()) if (this.#heldBy(key) < maxPerKey) return key;
    return undefined;
  }

  #arm(waitMs: number): void {
    this.#stopTimer ??= this.#options.clock.after(waitMs, () => {
      this.#stopTimer = undefined;
      this.#pump();
    });
  }

  /** Counts an entry; returns the function that ends it. */
  #enter(key: string): () => void {
    this.#count++;
    this.#held.set(key, this.#heldBy(key) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#count--;
      const rest = this.#heldBy(key) - 1;
      if (rest === 0) this.#held.delete(key);
      else this.#held.set(key, rest);
      this.#pump();
    };
  }

  #heldBy(key: string): number {
    return this.#held.get(key) ?? 0;
  }

  #giveUp(key: string, waiter: Waiter): void {
    const rest = (this.#waiters.get(key) ?? []).filter((each) => each !== waiter);
    if (rest.length === 0) this.#waiters.delete(key);
    else this.#waiters.set(key, rest);
    if (this.#waiters.size === 0) {
      this.#stopTimer?.();
      this.#stopTimer = undefined;
    }
    waiter(undefined);
  }
}
