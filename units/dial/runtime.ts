/**
 * Keeps the agent's runtime ready: starts it, restarts it with back-off when it dies, and reports
 * its state. Ends a program that has been idle for long; the next use starts it again. Knows
 * nothing of the gateway or of turns. ADR 0003 explains why it is a child of the dial unit.
 *
 * | While | Then |
 * |---|---|
 * | a turn uses the program, or something else needs it | it stays |
 * | its end would lose something (`RuntimeSession.unfinished`) | it stays, and the log says why |
 * | it is idle for `idleMs` | its whole process group ends: it sleeps |
 * | the next turn is of another conversation | it ends, and starts with that one |
 * | it sleeps, or is ending to sleep | the next use waits, and gets the newly started one |
 *
 * @module
 */

import { backoffMs } from "core/concurrency/backoff.ts";
import { DEFAULT_CONVERSATION } from "core/dial/conversation.ts";
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
   * Runs `work` with a session of the conversation, which does not sleep meanwhile; one call at a
   * time. If the program has another conversation, ends it. If there is none, waits for the next
   * start. `work` gets the session or the reason why it failed.
   */
  use<T>(
    conversation: string | undefined,
    work: (session: Result<RuntimeSession, string>) => Promise<T>,
  ): Promise<T>;
  /**
   * Ends the program if it has this conversation; resolves when it has ended. The next start is of
   * the default conversation, unless a turn asks for another one.
   */
  leave(conversation: string): Promise<void>;
  /** Ends the runtime and does not restart it. */
  close(graceMs: number): Promise<void>;
}

/** Dependencies of the supervisor. */
export interface RuntimeDeps {
  readonly driver: RuntimeDriver;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onState: (state: AgentState | "asleep", reason?: string) => void;
  /** Called before the program is ended to sleep. */
  readonly onLeaving: () => void;
  /** Idle time after which the program sleeps; undefined is never. */
  readonly idleMs: number | undefined;
  /** Whether something besides turns needs the program, such as an open question to a person. */
  readonly isNeeded: () => boolean;
}

/** Time limit for a program to end when it goes to sleep, or when its conversation changes. */
const LEAVE_GRACE_MS = 10_000;
/** Pause before a program that had to stay awake is checked again. */
const CHECK_AGAIN_MS = 60_000;

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
  /** Conversation of the next start, and of the program that starts or runs. */
  #wanted: string | undefined;
  #conversation: string | undefined;
  #waiters: ((outcome: Result<RuntimeSession, string>) => void)[] = [];
  /** Cuts short the wait before the next start. */
  #startNow = new AbortController();
  /** Number of callers that use the session or wait for one. */
  #users = 0;
  #stopIdleTimer = () => {};
  /** The session that was ended on purpose, until the next start. */
  #leaving: RuntimeSession | undefined;
  /** Whether the program must end as soon as it has started. */
  #isUnwanted = false;
  /** Why the program last stayed awake. */
  #stayed: string | undefined;
  #done: Promise<void> = Promise.resolve();

  constructor(deps: RuntimeDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#done = this.#supervise();
  }

  async use<T>(
    conversation: string | undefined,
    work: (session: Result<RuntimeSession, string>) => Promise<T>,
  ): Promise<T> {
    this.#users++;
    this.#stopIdleTimer();
    try {
      return await work(await this.#sessionOf(conversation));
    } finally {
      this.#users--;
      this.#startIdleTimer(this.#deps.idleMs);
    }
  }

  async leave(conversation: string): Promise<void> {
    if (this.#wanted === conversation) this.#wanted = undefined;
    if (this.#conversation !== conversation) return;
    const session = this.#current;
    if (session === undefined) {
      this.#isUnwanted = true;
      return;
    }
    this.#stopIdleTimer();
    this.#leave(session);
    await session.ended;
  }

  async close(graceMs: number): Promise<void> {
    this.#stop.abort();
    this.#stopIdleTimer();
    await (this.#current ?? this.#leaving)?.close(graceMs);
    await this.#done;
  }

  async #sessionOf(conversation: string | undefined): Promise<Result<RuntimeSession, string>> {
    this.#wanted = conversation;
    while (true) {
      const session = await this.#session();
      if (!session.ok || this.#conversation === conversation) return session;
      this.#changeConversation();
    }
  }

  /** Ends the program; the caller waits for the next start, which opens the wanted conversation. */
  #changeConversation(): void {
    const session = this.#current;
    if (session === undefined) return;
    this.#deps.log.info("runtime changes its conversation", {
      from: this.#conversation ?? DEFAULT_CONVERSATION,
      to: this.#wanted ?? DEFAULT_CONVERSATION,
    });
    this.#leave(session);
  }

  #leave(session: RuntimeSession): void {
    this.#leaving = session;
    this.#current = undefined;
    void session.close(LEAVE_GRACE_MS);
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
      if (this.#leaving !== undefined) {
        attempt = 0;
        await this.#sleep();
        continue;
      }
      attempt = ranMs >= BACKOFF_LIMITS.stableMs ? 0 : attempt + 1;
      const delayMs = BACKOFF_LIMITS.firstMs + backoffMs(DIAL_BACKOFF, attempt, random.fraction());
      log.warning("runtime ended", { reason, restart_ms: delayMs });
      onState("failed", reason);
      if (ranMs === 0) this.#settle(err(reason));
      // A turn that continues waits already.
      if (this.#waiters.length > 0) continue;
      this.#startNow = new AbortController();
      await clock.sleep(delayMs, AbortSignal.any([this.#stop.signal, this.#startNow.signal]));
    }
    this.#settle(err(STOPS));
  }

  /** Runs one session to its end; returns how long it ran and why it ended. */
  async #runOnce(): Promise<{ readonly ranMs: number; readonly reason: string }> {
    const { driver, clock, onState } = this.#deps;
    this.#leaving = undefined;
    this.#isUnwanted = false;
    this.#conversation = this.#wanted;
    onState("starting");
    let session: RuntimeSession;
    try {
      session = await driver.start(this.#stop.signal, this.#conversation);
    } catch (thrown) {
      return { ranMs: 0, reason: errorText(thrown) };
    }
    if (this.#stop.signal.aborted) {
      await session.close(0);
      return { ranMs: 0, reason: "stopped" };
    }
    if (this.#isUnwanted) {
      this.#leaving = session;
      await session.close(LEAVE_GRACE_MS);
      return { ranMs: 0, reason: "its conversation was removed" };
    }
    const since = clock.monotonic();
    this.#current = session;
    onState("idle");
    this.#settle(ok(session));
    this.#startIdleTimer(this.#deps.idleMs);
    const reason = await session.ended;
    this.#stopIdleTimer();
    this.#current = undefined;
    return { ranMs: clock.monotonic() - since, reason };
  }

  /** Waits for the next use; returns at once if one has waited since the program ended. */
  async #sleep(): Promise<void> {
    if (this.#waiters.length > 0) return;
    this.#deps.onState("asleep");
    this.#startNow = new AbortController();
    const woken = AbortSignal.any([this.#stop.signal, this.#startNow.signal]);
    await new Promise((resolve) => woken.addEventListener("abort", resolve));
  }

  #startIdleTimer(ms: number | undefined): void {
    this.#stopIdleTimer();
    if (ms === undefined || this.#users > 0 || this.#current === undefined) return;
    this.#stopIdleTimer = this.#deps.clock.after(ms, () => this.#considerSleep());
  }

  /**
   * Ends the program if nothing needs it. Decides without waiting for anything: from here on a new
   * use waits for the next start.
   */
  #considerSleep(): void {
    const { clock, log, idleMs, isNeeded, onLeaving } = this.#deps;
    const session = this.#current;
    if (session === undefined || idleMs === undefined || this.#stop.signal.aborted) return;
    const quietMs = clock.monotonic() - session.lastOutputMs();
    if (quietMs < idleMs) return this.#startIdleTimer(idleMs - quietMs);
    const why = isNeeded() ? "a person is asked" : session.unfinished();
    if (why !== undefined) {
      if (why !== this.#stayed) log.info("runtime stays awake", { reason: why });
      this.#stayed = why;
      return this.#startIdleTimer(Math.min(idleMs, CHECK_AGAIN_MS));
    }
    this.#stayed = undefined;
    onLeaving();
    log.info("runtime goes to sleep", { idle_s: Math.round(idleMs / 1_000) });
    this.#leave(session);
  }
}
