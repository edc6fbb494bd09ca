/**
 * Lets work of many through a narrow place, one of each in turn: whoever has a thousand things
 * waiting delays somebody with one by a single thing. Bounded at once for all and for each; at a
 * pace, where one is given. Leaf: no I/O, the clock is passed in.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";

/** When the next may pass, and that one did. */
export interface TurnstilePace {
  /** Milliseconds to wait at `nowMs`; 0 when one may pass. */
  waitMs(nowMs: number): number;
  took(nowMs: number): void;
}

/** What a turnstile is made of. */
export interface TurnstileParts {
  /** Things inside at once, of all and of one. */
  readonly max: number;
  readonly maxOfOne: number;
  readonly pace?: TurnstilePace;
  readonly clock: Pick<Clock, "monotonic" | "after">;
}

/** A turnstile. */
export interface Turnstile {
  /**
   * Resolves when `who` may pass, with what is to be called at the end; undefined when `signal`
   * ended the wait before.
   */
  enter(who: string, signal?: AbortSignal): Promise<(() => void) | undefined>;
  /** Things that wait, of all or of one. */
  waiting(who?: string): number;
}

type Waiter = (leave: (() => void) | undefined) => void;

/** Makes a turnstile. */
export function createTurnstile({ max, maxOfOne, pace, clock }: TurnstileParts): Turnstile {
  /** Those who wait, in the order of their turns; a key leaves with its last waiter. */
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
      // To the end of the order: the others come first.
      lines.delete(who);
      if (line.length > 0) lines.set(who, line);
      count++;
      inside.set(who, (inside.get(who) ?? 0) + 1);
      waiter?.(leaveOnce(who));
    }
  }

  /** Whose turn it is: the first who is not inside as often as one may. */
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

  /** Lets `who` pass where nobody waits and there is room; undefined where it has to wait. */
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
