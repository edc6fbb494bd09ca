/**
 * A runtime controlled by a test: each turn runs a script, and the process dies on demand.
 *
 * @module
 */

import type {
  RuntimeDriver,
  RuntimeSession,
  RuntimeUpdate,
  TurnOutcome,
} from "units/dial/runtimes/driver.ts";

/** What a script can use. */
export interface TurnStage {
  readonly turnId: string;
  readonly text: string;
  /** Reports an update and waits until it has been accepted. */
  readonly report: (update: RuntimeUpdate) => Promise<void>;
  /** Aborts when the turn is cancelled or the runtime dies. */
  readonly signal: AbortSignal;
}

/** A scripted driver. */
export interface ScriptedRuntime extends RuntimeDriver {
  /** Turns that have begun, in order. */
  readonly begun: readonly string[];
  readonly starts: () => number;
  /** Ends the running process as `kill -9` would. */
  kill(reason?: string): void;
  /** Makes further starts fail; undefined lets them succeed again. */
  failStarts(reason: string | undefined): void;
  /** Makes the next start wait until the returned function is called. */
  holdStart(): () => void;
}

/** Creates a driver that runs `script` for each turn. The default script echoes the text. */
export function scriptedRuntime(
  script: (stage: TurnStage) => Promise<TurnOutcome> = echo,
): ScriptedRuntime {
  const begun: string[] = [];
  let starts = 0;
  let failure: string | undefined;
  let held: Promise<void> = Promise.resolve();
  let end = (_reason: string) => {};

  function session(): RuntimeSession {
    const { promise: ended, resolve } = Promise.withResolvers<string>();
    const death = new AbortController();
    let cancelling = new AbortController();
    end = (reason) => {
      death.abort();
      resolve(reason);
    };
    return {
      ended,
      close: (_graceMs) => {
        end("closed");
        return Promise.resolve();
      },
      cancel: () => {
        cancelling.abort();
        return Promise.resolve();
      },
      prompt: async ({ turnId, text }, report) => {
        begun.push(turnId);
        cancelling = new AbortController();
        const cancelled = cancelling.signal;
        const signal = AbortSignal.any([cancelled, death.signal]);
        const outcome = await Promise.race([
          script({ turnId, text, report, signal }),
          new Promise<TurnOutcome>((done) => {
            signal.addEventListener("abort", () =>
              done(
                death.signal.aborted
                  ? { outcome: "interrupted", code: "runtime-died", reason: "it died" }
                  : { outcome: "cancelled" },
              ));
          }),
        ]);
        return outcome;
      },
    };
  }
  return {
    begun,
    starts: () => starts,
    kill: (reason = "signal SIGKILL") => end(reason),
    failStarts: (reason) => {
      failure = reason;
    },
    holdStart: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    start: async () => {
      starts++;
      await held;
      if (failure !== undefined) throw new Error(failure);
      return session();
    },
  };
}

async function echo({ turnId, text, report }: TurnStage): Promise<TurnOutcome> {
  const messageId = `m-${turnId}`;
  await report({ kind: "text_delta", messageId, text });
  await report({ kind: "message", messageId, text });
  return { outcome: "completed" };
}

/** A script that waits until its turn is cancelled or the runtime is killed. */
export function hang(): Promise<TurnOutcome> {
  return new Promise(() => {});
}
