/**
 * The life of one service unit: start, readiness, end, restart.
 *
 * | state          | means                                              |
 * |----------------|----------------------------------------------------|
 * | `inactive`     | never started, stopped, or ended cleanly           |
 * | `activating`   | being started, or waiting for a restart            |
 * | `active`       | ready (a one-shot that remains: has run)           |
 * | `deactivating` | being stopped                                      |
 * | `failed`       | ended with a failure, and no restart follows       |
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { ServiceFault } from "units/manager/service_manager.ts";
import type { UnitEvent } from "units/manager/embedded.ts";
import { type AttemptDeps, runAttempt } from "units/manager/os/runs/attempt.ts";
import type { Execution } from "units/manager/os/runs/execution.ts";
import type { ServiceSpec } from "units/manager/units/service_spec.ts";
import type { UnitBase } from "units/manager/units/unit_spec.ts";
import { excerptSince, type UnitLog } from "units/manager/os/runs/unit_log.ts";
import {
  describeExit,
  failureOf,
  RESTART_LIMITS,
  restartDelayMs,
  type RunEnd,
  shouldRestart,
  StartLimit,
} from "units/manager/verdict.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** Dependencies of a service. */
export interface ServiceDeps extends AttemptDeps {
  readonly log: UnitLog;
  readonly onEvent: (event: UnitEvent) => void;
  /** The service has ended, or finally failed, without a stop request. */
  readonly onEnded: () => void;
}

/** One service. */
export class ServiceRun {
  readonly unit: string;
  /** Replaced by a reload; takes effect at the next start. */
  spec: UnitBase & ServiceSpec;
  readonly #deps: ServiceDeps;
  readonly #limit = new StartLimit();
  #active: UnitStatus["active"] = "inactive";
  #since: number | undefined;
  #reason: string | undefined;
  #restarts = 0;
  /** Number of restarts since the last stable run. */
  #backoffStep = 0;
  #readyAt = Infinity;
  /** Position in the log where the last run begins. */
  #logStart = 0;
  #execution: Execution | undefined;
  #life: Promise<void> | undefined;
  #started = Promise.withResolvers<void>();
  #goal: "run" | "stop" | "kill" = "stop";
  #pause = new AbortController();

  constructor(spec: UnitBase & ServiceSpec, deps: ServiceDeps) {
    this.unit = spec.unit;
    this.spec = spec;
    this.#deps = deps;
  }

  status(): UnitStatus {
    return {
      unit: this.unit,
      load: "loaded",
      active: this.#active,
      mainPid: this.#execution?.pid,
      since: this.#since,
      reason: this.#reason,
      restarts: this.#restarts,
    };
  }

  /** Resolves when the service is ready; rejects with `ServiceFault` when its run fails first. */
  async start(): Promise<void> {
    while (this.#goal !== "run" && this.#life !== undefined) await this.#life;
    if (this.#active === "active") return;
    if (this.#life === undefined) {
      this.#goal = "run";
      this.#limit.reset();
      this.#restarts = 0;
      this.#backoffStep = 0;
      this.#await();
      this.#life = this.#live().finally(() => this.#life = undefined);
    } else {
      // A start request during the restart delay ends the delay.
      this.#pause.abort();
    }
    await this.#started.promise;
  }

  /** Resolves when every process of the service is gone. */
  async stop(): Promise<void> {
    if (this.#life === undefined) {
      if (this.#active === "active") this.#set("inactive", undefined);
      return;
    }
    if (this.#goal === "run") this.#goal = "stop";
    this.#pause.abort();
    if (this.#execution !== undefined) {
      this.#set("deactivating", undefined);
      this.#execution.stop();
    }
    await this.#life;
  }

  /** Kills every process of the service now and starts no other. */
  kill(): void {
    this.#goal = "kill";
    this.#pause.abort();
    this.#execution?.kill();
  }

  async #live(): Promise<void> {
    while (true) {
      const { restart } = this.spec;
      if (!this.#limit.take(restart, this.#deps.clock.monotonic())) {
        const span = `${restart.burst} starts within ${restart.intervalMs / 1000} s`;
        return this.#fail(`start-limit ${span}`);
      }
      const end = await this.#runOnce();
      if (this.#goal !== "run") return this.#stopped();
      const failure = failureOf(restart, end);
      if (!shouldRestart(restart, end)) {
        return failure === undefined ? this.#exited(end) : this.#fail(failure);
      }
      await this.#pauseBeforeRestart(failure ?? describeExit(end.exit));
      if (this.#goal !== "run") return this.#stopped();
      this.#restarts++;
    }
  }

  async #runOnce(): Promise<RunEnd> {
    this.#readyAt = Infinity;
    this.#logStart = this.#deps.log.appended();
    this.#set("activating", this.#reason);
    this.#deps.onEvent({ kind: "starting", unit: this.unit });
    const end = await runAttempt(
      { unit: this.unit, spec: this.spec, log: this.#deps.log },
      this.#deps,
      {
        onExecution: (execution) => {
          this.#execution = execution;
          if (this.#goal === "kill") execution.kill();
          else if (this.#goal === "stop") execution.stop();
        },
        onReady: () => this.#ready(),
        isStopRequested: () => this.#goal !== "run",
      },
    );
    this.#execution = undefined;
    return end;
  }

  #ready(): void {
    if (this.#goal !== "run") return;
    this.#readyAt = this.#deps.clock.monotonic();
    this.#set("active", undefined);
    this.#started.resolve();
    const pid = this.#execution?.pid;
    this.#deps.onEvent({ kind: "ready", unit: this.unit, ...defined({ pid }) });
  }

  async #pauseBeforeRestart(reason: string): Promise<void> {
    const { clock } = this.#deps;
    if (clock.monotonic() - this.#readyAt >= RESTART_LIMITS.stableMs) this.#backoffStep = 0;
    const delayMs = restartDelayMs(this.spec.restart, this.#backoffStep++);
    this.#note(`${reason}, starting again in ${Math.round(delayMs)} ms`);
    this.#started.reject(this.#fault(reason));
    this.#await();
    this.#pause = new AbortController();
    this.#set("activating", reason);
    this.#deps.onEvent({
      kind: "restarting",
      unit: this.unit,
      reason,
      delayMs,
      journal: excerptSince(this.#deps.log, this.#logStart),
    });
    await clock.sleep(delayMs, this.#pause.signal);
  }

  #fail(reason: string): void {
    this.#note(reason);
    this.#set("failed", reason);
    this.#started.reject(this.#fault(reason));
    const journal = excerptSince(this.#deps.log, this.#logStart);
    this.#deps.onEvent({ kind: "failed", unit: this.unit, reason, journal });
    this.#deps.onEnded();
  }

  #stopped(): void {
    this.#set("inactive", undefined);
    this.#started.reject(this.#fault("stopped before it was ready"));
    this.#deps.onEvent({ kind: "stopped", unit: this.unit });
  }

  #exited(end: RunEnd): void {
    const isDone = this.spec.type === "oneshot";
    if (isDone && this.spec.remainsAfterExit) return;
    this.#set("inactive", undefined);
    this.#started.reject(this.#fault("ended before it was ready"));
    this.#deps.onEvent({ kind: "exited", unit: this.unit, reason: describeExit(end.exit) });
    this.#deps.onEnded();
  }

  /** A failure without a waiting caller is reported by the status and the events. */
  #await(): void {
    this.#started = Promise.withResolvers();
    this.#started.promise.catch(() => {});
  }

  #set(active: UnitStatus["active"], reason: string | undefined): void {
    if (active !== this.#active) this.#since = this.#deps.clock.now();
    this.#active = active;
    this.#reason = reason;
  }

  #note(text: string): void {
    this.#deps.log.append([`${this.unit}: ${text}`]);
  }

  #fault(reason: string): ServiceFault {
    const journal = excerptSince(this.#deps.log, this.#logStart);
    return new ServiceFault(
      this.unit,
      `Cannot start unit ${JSON.stringify(this.unit)}: ${reason}`,
      journal,
    );
  }
}
