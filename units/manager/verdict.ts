/**
 * How a run of a service ended, whether it is restarted, and when. Pure.
 * Table: systemd.service(5) `Restart=`, "Exit causes and the effect of the Restart= settings".
 *
 * | cause \ Restart= | no | always | on-success | on-failure | on-abnormal | on-abort |
 * |------------------|----|--------|------------|------------|-------------|----------|
 * | clean            |    | x      | x          |            |             |          |
 * | unclean code     |    | x      |            | x          |             |          |
 * | unclean signal   |    | x      |            | x          | x           | x        |
 * | time-out         |    | x      |            | x          | x           |          |
 *
 * The delay doubles with each restart (or follows `RestartSteps=`). A stable run resets it.
 *
 * @module
 */

import { backoffMs } from "core/concurrency/backoff.ts";
import type { ProcessExit } from "core/ports/processes.ts";
import type { RestartPolicy } from "units/manager/units/service_spec.ts";

/** Limits of the restart back-off. */
export const RESTART_LIMITS = {
  /** Upper limit of the doubling delay, unless the unit sets its own. */
  delayMsMax: 30_000,
  /** A run that was active this long resets the delay to its first value. */
  stableMs: 10_000,
} as const;

/** Why the manager itself ended a run. */
export type ManagerCause = "timeout" | "runtime-limit" | "memory-limit" | "resources";

/** How a run ended. */
export interface RunEnd {
  /** Undefined when no process was started. */
  readonly exit: ProcessExit | undefined;
  /** Set when the manager ended it, or could not start it. */
  readonly cause: ManagerCause | undefined;
  /** Text that explains the cause. */
  readonly detail: string;
}

const CLEAN_SIGNALS: ReadonlySet<string> = new Set(["SIGHUP", "SIGINT", "SIGTERM", "SIGPIPE"]);

type Kind = "clean" | "code" | "signal" | "timeout";

const RESTARTS: Readonly<Record<RestartPolicy["when"], readonly Kind[]>> = {
  "no": [],
  "always": ["clean", "code", "signal", "timeout"],
  "on-success": ["clean"],
  "on-failure": ["code", "signal", "timeout"],
  "on-abnormal": ["signal", "timeout"],
  "on-abort": ["signal"],
};

function kindOf(policy: RestartPolicy, end: RunEnd): Kind {
  if (end.cause === "memory-limit") return "signal";
  if (end.cause === "resources") return "code";
  if (end.cause !== undefined) return "timeout";
  const { code, signal } = end.exit ?? {};
  if (signal !== undefined) {
    return CLEAN_SIGNALS.has(signal) || policy.success.has(signal) ? "clean" : "signal";
  }
  return code === 0 || policy.success.has(code ?? -1) ? "clean" : "code";
}

/** Returns the reason a run failed, or undefined when it ended cleanly. */
export function failureOf(policy: RestartPolicy, end: RunEnd): string | undefined {
  if (end.cause !== undefined) return end.detail === "" ? end.cause : `${end.cause} ${end.detail}`;
  return kindOf(policy, end) === "clean" ? undefined : describeExit(end.exit);
}

/** Returns `exit-code 1` or `signal SIGKILL`. */
export function describeExit(exit: ProcessExit | undefined): string {
  return exit?.signal !== undefined ? `signal ${exit.signal}` : `exit-code ${exit?.code ?? 0}`;
}

/** Decides whether to restart after a run that ended without a stop request. */
export function shouldRestart(policy: RestartPolicy, end: RunEnd): boolean {
  const status = end.cause === undefined ? end.exit?.signal ?? end.exit?.code : undefined;
  if (status !== undefined && policy.prevent.has(status)) return false;
  if (status !== undefined && policy.force.has(status)) return true;
  return RESTARTS[policy.when].includes(kindOf(policy, end));
}

/** Returns the delay before restart number `count` (0 is the first) since the last stable run. */
export function restartDelayMs(policy: RestartPolicy, count: number): number {
  const { firstMs, steps } = policy;
  if (firstMs === 0) return 0;
  const maxMs = policy.maxMs ?? Math.max(firstMs, RESTART_LIMITS.delayMsMax);
  if (steps === 0 || policy.maxMs === undefined) return backoffMs({ firstMs, maxMs }, count);
  return backoffMs({ firstMs, maxMs, factor: (maxMs / firstMs) ** (1 / steps) }, count);
}

/** Counts starts and reports when there are too many within the interval. */
export class StartLimit {
  #starts: number[] = [];

  /** Records a start at `now`; returns false when the limit forbids it. */
  take(policy: RestartPolicy, now: number): boolean {
    if (policy.burst === 0 || policy.intervalMs === 0) return true;
    this.#starts = this.#starts.filter((at) => now - at < policy.intervalMs);
    if (this.#starts.length >= policy.burst) return false;
    this.#starts.push(now);
    return true;
  }

  /** Clears the count, for a manual start. */
  reset(): void {
    this.#starts = [];
  }
}
