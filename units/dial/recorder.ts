/**
 * Puts events into the outbox and waits when that is not possible. While the outbox is full, the
 * runtime's events are not accepted, so the runtime is not read from. While the disk refuses, the
 * write is retried. No reported event is dropped.
 *
 * @module
 */

import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { DialStore, EventDraft, TurnMove } from "units/dial/store.ts";

/** Records events. */
export interface Recorder {
  /**
   * Resolves when the events are on disk. The runtime's events first wait for space in the outbox.
   */
  record(drafts: readonly EventDraft[], options?: RecordOptions): Promise<void>;
  /** Signals that the gateway acknowledged events. */
  spaceFreed(): void;
}

/** Options of a record. */
export interface RecordOptions {
  readonly move?: TurnMove;
  /** Marks the unit's own events: they are few and must not wait behind a full outbox. */
  readonly isControl?: boolean;
}

const RETRY_MS = 1_000;

/** Creates the recorder. `onStored` is called after each write; `signal` ends all waiting. */
export function createRecorder(deps: {
  readonly store: DialStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly onStored: () => void;
  readonly signal: AbortSignal;
}): Recorder {
  const { store, clock, log, signal } = deps;
  let waiters: (() => void)[] = [];
  let isWarned = false;
  const release = () => {
    const ready = waiters;
    waiters = [];
    for (const wake of ready) wake();
  };
  signal.addEventListener("abort", release);

  const hasSpace = () => store.waitingBytes() < DIAL_LIMITS.outboxBytesMax;
  async function waitForSpace(): Promise<void> {
    while (!hasSpace() && !signal.aborted) {
      if (!isWarned) log.warning("outbox is full, the runtime waits");
      isWarned = true;
      await new Promise<void>((resolve) => waiters.push(resolve));
    }
    isWarned = false;
  }

  return {
    spaceFreed: () => {
      if (hasSpace()) release();
    },
    record: async (drafts, options = {}) => {
      if (options.isControl !== true) await waitForSpace();
      for (let tries = 0;; tries++) {
        const appended = store.append(drafts, options.move);
        if (appended.ok) return deps.onStored();
        if (tries === 0) {
          const { code, message } = appended.error;
          log.error("event not stored, trying again", { code, error: message });
        }
        if (signal.aborted) return;
        await clock.sleep(RETRY_MS, signal);
      }
    },
  };
}
