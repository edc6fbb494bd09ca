/**
 * One running turn, whatever the wire protocol: updates are delivered one after the other, a
 * cancel is asked once and enforced after its time, and the end names what really happened. No I/O.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { RuntimeUpdate, TurnOutcome } from "units/dial/runtimes/driver.ts";
import { createTranslator, type KnownCall } from "units/dial/runtimes/acp_updates.ts";

/** What a turn needs of its session. */
export interface TurnParts {
  readonly turnId: string;
  readonly clock: Clock;
  /** Names of the MCPs that the program was given. */
  readonly servers?: readonly string[];
  readonly onUpdate: (update: RuntimeUpdate) => Promise<void>;
  /** How long a cancelled turn may take to end before `kill`. */
  readonly cancelMs: number;
  /** Asks the runtime to stop; must not reject. */
  readonly askToStop: () => Promise<void>;
  readonly kill: () => void;
}

/** A turn that has begun. */
export interface RunningTurn {
  /** Takes one update in the words of ACP; resolves when it was handed over. */
  take(update: unknown): Promise<void>;
  /** What is known of a call without a result. */
  callOf(callId: string): KnownCall | undefined;
  /** Marks a call as denied; false when the turn was cancelled, which says it all. */
  deny(callId: string): boolean;
  /** Aborts when the turn is cancelled. */
  readonly cancelled: AbortSignal;
  /** Asks the runtime to stop; a second call does nothing. */
  cancel(): Promise<void>;
  /** Completes what is open and returns the outcome, given what the runtime said of its end. */
  end(said: () => Promise<TurnOutcome>): Promise<TurnOutcome>;
}

/** Begins a turn. */
export function beginTurn(parts: TurnParts): RunningTurn {
  const translator = createTranslator(parts.turnId, parts.clock, parts.servers);
  const cancelling = new AbortController();
  let stopTimer = () => {};
  /** Why the owner of the updates could not take one; ends the turn. */
  let refusedUpdate: string | undefined;
  let delivered: Promise<void> = Promise.resolve();

  async function cancel(): Promise<void> {
    if (cancelling.signal.aborted) return;
    cancelling.abort();
    stopTimer = parts.clock.after(parts.cancelMs, parts.kill);
    await parts.askToStop();
  }

  async function deliverAll(updates: readonly RuntimeUpdate[]): Promise<void> {
    for (const update of updates) {
      if (refusedUpdate !== undefined) return;
      try {
        await parts.onUpdate(update);
      } catch (error) {
        refusedUpdate = errorText(error);
        void cancel();
      }
    }
  }
  // One after the other, whoever calls: the end of a turn must not overtake its last update.
  const deliver = (updates: readonly RuntimeUpdate[]) =>
    delivered = delivered.then(() => deliverAll(updates));

  function settle(outcome: TurnOutcome): TurnOutcome {
    if (refusedUpdate !== undefined) {
      return failed("event-not-stored", `An event of the turn was not stored: ${refusedUpdate}`);
    }
    // A runtime that answers a cancel with an error, or had to be killed, was still cancelled.
    return cancelling.signal.aborted && outcome.outcome !== "completed"
      ? { ...outcome, outcome: "cancelled" }
      : outcome;
  }

  return {
    take: (update) => deliver(translator.translate(update)),
    callOf: (callId) => translator.callOf(callId),
    deny: (callId) => {
      translator.deny(callId);
      return !cancelling.signal.aborted;
    },
    cancelled: cancelling.signal,
    cancel,
    async end(said) {
      const outcome = await said();
      stopTimer();
      await deliver(translator.finish());
      return settle(outcome);
    },
  };
}

/** A turn that failed, with a stable code and a reason for people. */
export function failed(code: string, reason: string): TurnOutcome {
  return { outcome: "failed", code, reason };
}
