/**
 * One running turn, for any wire protocol. Updates are delivered one after the other. A cancel is
 * requested once and enforced after its time limit. The outcome states what really happened. No
 * I/O.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { RuntimeUpdate, TurnOutcome } from "units/dial/runtimes/driver.ts";
import { createTranslator, type KnownCall } from "units/dial/runtimes/acp_updates.ts";
import type { TurnUsage } from "units/dial/runtimes/usage.ts";

/** Dependencies of a turn. */
export interface TurnDeps {
  readonly turnId: string;
  readonly clock: Clock;
  /** Names of the MCPs that the program received. */
  readonly servers?: readonly string[];
  readonly onUpdate: (update: RuntimeUpdate) => Promise<void>;
  /** Time limit of a cancelled turn; after it `kill` is called. */
  readonly cancelMs: number;
  /** Asks the runtime to stop; must not reject. */
  readonly requestStop: () => Promise<void>;
  readonly kill: () => void;
  /** Whether an interrupted turn continues: then its open message and calls stay open. */
  readonly goesOn?: boolean;
}

/** A turn that has started. */
export interface RunningTurn {
  /** Accepts one ACP update; resolves when it was handed over. */
  take(update: unknown): Promise<void>;
  /** Returns what is known of a call without a result. */
  callOf(callId: string): KnownCall | undefined;
  /**
   * Marks a call as denied. Returns false when the turn was cancelled, which already explains the
   * denial.
   */
  deny(callId: string): boolean;
  /** Sets the tokens of the turn; they are reported at its end. */
  used(usage: TurnUsage | undefined): void;
  /** Aborts when the turn is cancelled. */
  readonly cancelled: AbortSignal;
  /** Asks the runtime to stop; later calls do nothing. */
  cancel(): Promise<void>;
  /**
   * Completes the open updates and returns the outcome; `waitForOutcome` supplies the runtime's own
   * outcome.
   */
  end(waitForOutcome: () => Promise<TurnOutcome>): Promise<TurnOutcome>;
}

/** Begins a turn. */
export function beginTurn(deps: TurnDeps): RunningTurn {
  const translator = createTranslator(deps.turnId, deps.clock, deps.servers);
  const cancelling = new AbortController();
  let stopTimer = () => {};
  /** Why an update could not be stored; ends the turn. */
  let refusedUpdate: string | undefined;
  let usage: TurnUsage | undefined;
  let delivered: Promise<void> = Promise.resolve();

  async function cancel(): Promise<void> {
    if (cancelling.signal.aborted) return;
    cancelling.abort();
    stopTimer = deps.clock.after(deps.cancelMs, deps.kill);
    await deps.requestStop();
  }

  async function deliverAll(updates: readonly RuntimeUpdate[]): Promise<void> {
    for (const update of updates) {
      if (refusedUpdate !== undefined) return;
      try {
        await deps.onUpdate(update);
      } catch (error) {
        refusedUpdate = errorText(error);
        void cancel();
      }
    }
  }
  // In order, across all callers: the end of a turn must not overtake its last update.
  const deliver = (updates: readonly RuntimeUpdate[]) =>
    delivered = delivered.then(() => deliverAll(updates));

  function settle(outcome: TurnOutcome): TurnOutcome {
    if (refusedUpdate !== undefined) {
      return failed("event-not-stored", `An event of the turn was not stored: ${refusedUpdate}`);
    }
    // A turn counts as cancelled even if the runtime answered with an error or was killed.
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
    used: (given) => {
      usage = given;
    },
    cancelled: cancelling.signal,
    cancel,
    async end(waitForOutcome) {
      const outcome = await waitForOutcome();
      stopTimer();
      const isLeftOpen = deps.goesOn === true && outcome.outcome === "interrupted" &&
        !cancelling.signal.aborted;
      if (isLeftOpen) {
        await delivered;
        return settle(outcome);
      }
      await deliver(translator.finish());
      if (usage !== undefined) await deliver([usageUpdate(usage, outcome)]);
      return settle(outcome);
    },
  };
}

/**
 * Returns the report of a turn's tokens. Unless the turn completed, its last model call may have
 * been cut, and programs count such a call as nothing.
 */
function usageUpdate({ models, isPartial }: TurnUsage, { outcome }: TurnOutcome): RuntimeUpdate {
  const isWhole = !isPartial && outcome === "completed";
  return { kind: "usage", models, ...(isWhole ? {} : { isPartial: true }) };
}

/** A turn that failed, with a stable code and a reason for people. */
export function failed(code: string, reason: string): TurnOutcome {
  return { outcome: "failed", code, reason };
}
