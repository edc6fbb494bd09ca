/**
 * Lets verbs run: a bounded number of each uid at once, and the others wait in the order of asking.
 * Among uids the turns go round, so that one with many verbs delays another by a single one. Root
 * has a queue of its own, because others must never keep it away. No I/O.
 *
 * @module
 */

import { createTurnstile, type Turnstile } from "core/concurrency/turnstile.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import type { Clock } from "core/ports/clock.ts";
import { keyOf } from "units/daemon/caps.ts";

/** Verbs that change something and run at once, of all uids but root together. */
export const VERBS_MAX = 32;

/** What decides about the place of a verb. */
export interface QueuedVerb {
  readonly uid: number;
  /**
   * A verb that follows a log may run for days: those that only read do not count with the others.
   */
  readonly mutates: boolean;
}

/** The queue of a running daemon. */
export interface VerbQueue {
  /**
   * Resolves when the verb may run, with what is to be called at its end; undefined when the daemon
   * ends before. `onWait` is called first where the verb has to wait.
   */
  enter(verb: QueuedVerb, onWait: () => void): Promise<(() => void) | undefined>;
  /** Sends all home that wait. */
  close(): void;
}

/** Makes the queue. */
export function createVerbQueue(clock: Pick<Clock, "monotonic" | "after">): VerbQueue {
  const maxOfOne = DAEMON_LIMITS.verbsPerUidMax;
  const unbounded = () => createTurnstile({ max: Infinity, maxOfOne, clock });
  const ofRoot = unbounded();
  const reading = unbounded();
  const changing = createTurnstile({ max: VERBS_MAX, maxOfOne, clock });
  const stop = new AbortController();

  function placeOf({ uid, mutates }: QueuedVerb): Turnstile {
    if (!mutates) return reading;
    return uid === 0 ? ofRoot : changing;
  }

  return {
    enter(verb, onWait) {
      const place = placeOf(verb);
      const who = String(keyOf(verb.uid));
      const turn = place.enter(who, stop.signal);
      if (place.waiting(who) > 0) onWait();
      return turn;
    },
    close: () => stop.abort(),
  };
}
