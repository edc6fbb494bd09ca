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
   * Runs `work` with the running session. If there is none, waits for the next start; `work` gets
   * the session or the reason why it failed.
   */
  use<T>(work: (session: Result<RuntimeSession, string>) => Promise<T>): Promise<T>;
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
  const supervisor = new Supervisor(deps);
  supervisor.start();
  return supervisor;
}

const STOPS = "the dial unit stops";

class Supervisor implements SupervisedRuntime {
  readonly #deps: RuntimeDeps;
  readonly #stop = new AbortController();
  #current: RuntimeSession | undefined;
  #waiters: ((outcome: Result<RuntimeSession, string>) => void)[] = [];
  /** Cuts short the wait before the next start. */
  #startNow = new AbortController();
  #done: Promise<void> = Promise.resolve();

  constructor(deps: RuntimeDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#done = this.#supervise();
  }

  async use<T>(work: (session: Result<RuntimeSession, string>) => Promise<T>): Promise<T> {
    return await work(await this.#session());
  }

  async close(graceMs: number): Promise<void> {
    this.#stop.abort();
    await this.#current?.close(graceMs);
    await this.#done;
  }

  #session(): Promise<Result<RuntimeSession, string>> {
    if (this.#current !== undefined) return Promise.resolve(ok(this.#current));
    if (this.#stop.signal.aborted) return Promise.resolve(err(STOPS));
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.#startNow.abort();
    });
  }

  #settle(outcome: Result<RuntimeSession, string>): void {
    const waiting = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiting) resolve(outcome);
  }

  async #supervise(): Promise<void> {
    const { clock, random, log, onState } = this.#deps;
    let attempt = 0;
    while (!this.#stop.signal.aborted) {
      const { ranMs, reason } = await this.#runOnce();
      if (this.#stop.signal.aborted) break;
      attempt = ranMs >= BACKOFF_LIMITS.stableMs ? 0 : attempt + 1;
      const delayMs = BACKOFF_LIMITS.firstMs + backoffMs(DIAL_BACKOFF, attempt, random.fraction());
      log.warning("runtime ended", { reason, restart_ms: delayMs });
      onState("failed", reason);
      if (ranMs === 0) this.#settle(err(reason));
      this.#startNow = new AbortController();
      await clock.sleep(delayMs, AbortSignal.any([this.#stop.signal, this.#startNow.signal]));
    }
    this.#settle(err(STOPS));
  }

  /** Runs one session to its end; returns how long it ran and why it ended. */
  async #runOnce(): Promise<{ readonly ranMs: number; readonly reason: string }> {
    const { driver, clock, onState } = this.#deps;
    onState("starting");
    let session: RuntimeSession;
    try {
      session = await driver.start();
    } catch (thrown) {
      return { ranMs: 0, reason: errorText(thrown) };
    }
    if (this.#stop.signal.aborted) {
      await session.close(0);
      return { ranMs: 0, reason: "stopped" };
    }
    const since = clock.monotonic();
    this.#current = session;
    onState("idle");
    this.#settle(ok(session));
    const reason = await session.ended;
    this.#current = undefined;
    return { ranMs: clock.monotonic() - since, reason };
  }
}
