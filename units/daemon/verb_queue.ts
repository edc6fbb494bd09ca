/**
 * Decides when a verb may run. Each uid may run a bounded number at once; its other verbs wait in
 * arrival order. Turns rotate among uids, so a uid with many verbs delays another uid by one verb
 * at most. Root's mutating verbs have a separate queue, so that other users cannot block them.
 * No I/O.
 *
 * @module
 */

import { createFairSemaphore, type FairSemaphore } from "core/concurrency/fair_semaphore.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import type { Clock } from "core/ports/clock.ts";
import { keyOf } from "units/daemon/uid_limits.ts";

/** Mutating verbs that run at once, in total for all uids except root. */
export const VERBS_MAX = 32;

/** The facts that decide a verb's position in the queue. */
export interface QueuedVerb {
  readonly uid: number;
  /**
   * Whether the verb is mutating. Verbs that only read are counted separately, because one that
   * follows a log may run for days.
   */
  readonly mutates: boolean;
}

/** The queue of a running daemon. */
export interface VerbQueue {
  /**
   * Resolves when the verb may run, with a function to call when it ends. Resolves with undefined
   * when the daemon stops first. If the verb has to wait, `onWait` is called first.
   */
  enter(verb: QueuedVerb, onWait: () => void): Promise<(() => void) | undefined>;
  /** Releases all waiting verbs without running them. */
  close(): void;
}

/** Creates the queue. */
export function createVerbQueue(clock: Pick<Clock, "monotonic" | "after">): VerbQueue {
  const maxPerKey = DAEMON_LIMITS.verbsPerUidMax;
  const unbounded = () => createFairSemaphore({ max: Infinity, maxPerKey, clock });
  const ofRoot = unbounded();
  const reading = unbounded();
  const changing = createFairSemaphore({ max: VERBS_MAX, maxPerKey, clock });
  const stop = new AbortController();

  function queueOf({ uid, mutates }: QueuedVerb): FairSemaphore {
    if (!mutates) return reading;
    return uid === 0 ? ofRoot : changing;
  }

  return {
    enter(verb, onWait) {
      const queue = queueOf(verb);
      const key = String(keyOf(verb.uid));
      const turn = queue.acquire(key, stop.signal);
      if (queue.waiting(key) > 0) onWait();
      return turn;
    },
    close: () => stop.abort(),
  };
}
