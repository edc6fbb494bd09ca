/**
 * A fair semaphore: lets waiting keys pass round-robin. A key with a thousand waiters delays a key
 * with one waiter by a single entry. Concurrency is limited in total and per key; a pace may limit
 * the rate. No I/O, the clock is a parameter.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/** A rate limit: when the next entry may pass, and a record of each entry. */
export interface TurnstilePace {
  /** Returns milliseconds to wait at `nowMs`; 0 when an entry may pass. */
  waitMs(nowMs: number): number;
  took(nowMs: number): void;
}

/** Settings and dependencies of a turnstile. */
export interface TurnstileParts {
  /** Most entries inside at once, in total and per key. */
  readonly max: number;
  readonly maxOfOne: number;
  readonly pace?: TurnstilePace;
  readonly clock: Pick<Clock, "monotonic" | "after">;
}

/** A fair semaphore. */
export interface Turnstile {
  /**
   * Resolves when `who` may pass, with the function that leaves again. Resolves with undefined if
   * `signal` aborts the wait first.
   */
  enter(who: string, signal?: AbortSignal): Promise<(() => void) | undefined>;
  /** Returns the number of waiters, in total or of one key. */
  waiting(who?: string): number;
}

type Waiter = (leave: (() => void) | undefined) => void;

/** Creates a turnstile. */
export function createTurnstile({ max, maxOfOne, pace, clock }: TurnstileParts): Turnstile {
  /** Waiters by key, in the order of their turns; a key is removed with its last waiter. */
  const lines = new Map<string, Waiter[]>();
  const inside = new Map<string, number>();
  let count = 0;
  let stopTimer: (() => void) | undefined;

  function pump(): void {
    while (count < max) {
      const who = first();
      if (who === undefined) return;
      const now = clock.monotonic();
      const waitMs = pace?.waitMs(now) ?? 0;
      if (waitMs > 0) return arm(waitMs);
      pace?.took(now);
      const line = lines.get(who) ?? [];
      const waiter = line.shift();
      // Re-insert the key at the end, so that the other keys come first.
      lines.delete(who);
      if (line.length > 0) lines.set(who, line);
      count++;
      inside.set(who, (inside.get(who) ?? 0) + 1);
      waiter?.(leaveOnce(who));
    }
  }

  /** Returns the first key that is below its own limit. */
  function first(): string | undefined {
    for (const who of lines.keys()) if ((inside.get(who) ?? 0) < maxOfOne) return who;
    return undefined;
  }

  function arm(waitMs: number): void {
    stopTimer ??= clock.after(waitMs, () => {
      stopTimer = undefined;
      pump();
    });
  }

  function leaveOnce(who: string): () => void {
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      count--;
      const rest = (inside.get(who) ?? 1) - 1;
      if (rest === 0) inside.delete(who);
      else inside.set(who, rest);
      pump();
    };
  }

  function giveUp(who: string, waiter: Waiter): void {
    const rest = (lines.get(who) ?? []).filter((each) => each !== waiter);
    if (rest.length === 0) lines.delete(who);
    else lines.set(who, rest);
    if (lines.size === 0) {
      stopTimer?.();
      stopTimer = undefined;
    }
    waiter(undefined);
  }

  /** Lets `who` pass if no one waits and there is room; returns undefined if it has to wait. */
  function passAtOnce(who: string): (() => void) | undefined {
    const own = inside.get(who) ?? 0;
    if (lines.size > 0 || count >= max || own >= maxOfOne) return undefined;
    const now = clock.monotonic();
    if ((pace?.waitMs(now) ?? 0) > 0) return undefined;
    pace?.took(now);
    count++;
    inside.set(who, own + 1);
    return leaveOnce(who);
  }

  return {
    enter: async (who, signal) => {
      if (signal?.aborted === true) return undefined;
      const passed = passAtOnce(who);
      if (passed !== undefined) return passed;
      const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>();
      const line = lines.get(who) ?? [];
      line.push(resolve);
      lines.set(who, line);
      const onAbort = () => giveUp(who, resolve);
      signal?.addEventListener("abort", onAbort, { once: true });
      pump();
      const leave = await promise;
      signal?.removeEventListener("abort", onAbort);
      return leave;
    },
    waiting: (who) =>
      who === undefined
        ? [...lines.values()].reduce((sum, line) => sum + line.length, 0)
        : lines.get(who)?.length ?? 0,
  };
}
