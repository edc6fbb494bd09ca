/**
 * Puts events into the outbox and waits where that is not possible: while the outbox is full, what
 * a runtime reports is not taken (so the runtime is not read from), and while the disk refuses, the
 * write is tried again. Nothing that was reported is dropped.
 *
 * @module
 */

import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { DialStore, EventDraft, TurnMove } from "units/dial/store.ts";

/** Recording events. */
export interface Recorder {
  /** Resolves when the events are on disk; what a runtime reports waits for room first. */
  record(drafts: readonly EventDraft[], options?: RecordOptions): Promise<void>;
  /** Tells that the gateway acknowledged something. */
  roomMade(): void;
}

/** How to record. */
export interface RecordOptions {
  readonly move?: TurnMove;
  /** Events of our own that are few and must not wait behind a full outbox. */
  readonly isControl?: boolean;
}

const RETRY_MS = 1_000;

/** Makes the recorder; `onStored` is told after each write, `signal` ends all waiting. */
export function createRecorder(parts: {
  readonly store: DialStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly onStored: () => void;
  readonly signal: AbortSignal;
}): Recorder {
  const { store, clock, log, signal } = parts;
  let waiters: (() => void)[] = [];
  let isWarned = false;
  const release = () => {
    const ready = waiters;
    waiters = [];
    for (const wake of ready) wake();
  };
  signal.addEventListener("abort", release);

  const hasRoom = () => store.waitingBytes() < DIAL_LIMITS.outboxBytesMax;
  async function waitForRoom(): Promise<void> {
    while (!hasRoom() && !signal.aborted) {
      if (!isWarned) log.warning("outbox is full, the runtime waits");
      isWarned = true;
      await new Promise<void>((resolve) => waiters.push(resolve));
    }
    isWarned = false;
  }

  return {
    roomMade: () => {
      if (hasRoom()) release();
    },
    record: async (drafts, options = {}) => {
      if (options.isControl !== true) await waitForRoom();
      for (let tries = 0;; tries++) {
        const appended = store.append(drafts, options.move);
        if (appended.ok) return parts.onStored();
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
