/**
 * Keeps the agent's runtime running: starts it, restarts it with back-off when it dies, and reports
 * its state. Knows nothing of the gateway or of turns. ADR 0003 explains why it is a child of the
 * dial unit.
 *
 * @module
 */

import { backoffMs } from "core/concurrency/backoff.ts";
import type { AgentState } from "core/dial/event.ts";
import { DIAL_BACKOFF } from "units/dial/backoff.ts";
import { errorText } from "core/errors.ts";
import { BACKOFF_LIMITS } from "units/dial/limits.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import type { RuntimeDriver, RuntimeSession } from "units/dial/runtimes/driver.ts";

/** The supervised runtime. */
export interface SupervisedRuntime {
  /**
   * Returns the running session. If there is none, waits for the next start and returns the session
   * or the reason why it failed.
   */
  session(): Promise<Result<RuntimeSession, string>>;
  /** Ends the runtime and does not restart it. */
  close(graceMs: number): Promise<void>;
}

/** Dependencies of the supervisor. */
export interface RuntimeDeps {
  readonly driver: RuntimeDriver;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onState: (state: AgentState, reason?: string) => void;
}

/** Starts supervising; the first start begins at once. */
export function superviseRuntime(deps: RuntimeDeps): SupervisedRuntime {
  const { driver, clock, random, log, onState } = deps;
  const stop = new AbortController();
  let current: RuntimeSession | undefined;
  let waiters: ((outcome: Result<RuntimeSession, string>) => void)[] = [];
  /** Cuts short the wait before the next start. */
  let retryNow = new AbortController();

  function settle(outcome: Result<RuntimeSession, string>): void {
    const waiting = waiters;
    waiters = [];
    for (const resolve of waiting) resolve(outcome);
  }

  /** Runs one session to its end; returns how long it ran and why it ended. */
  async function runOnce(): Promise<{ readonly ranMs: number; readonly reason: string }> {
    onState("starting");
    let session: RuntimeSession;
    try {
      session = await driver.start();
    } catch (thrown) {
      return { ranMs: 0, reason: errorText(thrown) };
    }
    if (stop.signal.aborted) {
      await session.close(0);
      return { ranMs: 0, reason: "stopped" };
    }
    const since = clock.monotonic();
    current = session;
    onState("idle");
    settle(ok(session));
    const reason = await session.ended;
    current = undefined;
    return { ranMs: clock.monotonic() - since, reason };
  }

  async function supervise(): Promise<void> {
    let attempt = 0;
    while (!stop.signal.aborted) {
      const { ranMs, reason } = await runOnce();
      if (stop.signal.aborted) break;
      attempt = ranMs >= BACKOFF_LIMITS.stableMs ? 0 : attempt + 1;
      const delayMs = BACKOFF_LIMITS.firstMs + backoffMs(DIAL_BACKOFF, attempt, random.fraction());
      log.warning("runtime ended", { reason, restart_ms: delayMs });
      onState("failed", reason);
      if (ranMs === 0) settle(err(reason));
      retryNow = new AbortController();
      await clock.sleep(delayMs, AbortSignal.any([stop.signal, retryNow.signal]));
    }
    settle(err("the dial unit stops"));
  }

  const done = supervise();
  return {
    session: () => {
      if (current !== undefined) return Promise.resolve(ok(current));
      if (stop.signal.aborted) return Promise.resolve(err("the dial unit stops"));
      return new Promise((resolve) => {
        waiters.push(resolve);
        retryNow.abort();
      });
    },
    close: async (graceMs) => {
      stop.abort();
      await current?.close(graceMs);
      await done;
    },
  };
}
