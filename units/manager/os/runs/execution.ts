/**
 * One execution of one program of a unit, from the start of its process until all processes that it
 * started are gone. It detects readiness, stops the program or kills it, and records the cause when
 * the manager ended it.
 *
 * |            | main process | others: `control-group`     | `mixed`   | `process`   |
 * |------------|--------------|-----------------------------|-----------|-------------|
 * | `stop`     | `KillSignal` | `KillSignal`                | –         | –           |
 * | main ended | gone         | `KillSignal`, then as below | `SIGKILL` | linger      |
 * | `TimeoutStopSec` over | `SIGKILL` | `SIGKILL`           | `SIGKILL` | linger      |
 * | `kill`     | `SIGKILL`    | `SIGKILL`                   | `SIGKILL` | `SIGKILL`   |
 *
 * @module
 */

import type { Socket } from "node:net";
import type { Clock } from "core/ports/clock.ts";
import type { ExecLine } from "units/manager/units/exec_line.ts";
import { expandVariables } from "units/manager/units/exec_line.ts";
import type { ChildRecords } from "units/manager/os/processes/child_records.ts";
import type { Kernel } from "units/manager/os/processes/kernel.ts";
import type { Lingering } from "units/manager/os/processes/lingering.ts";
import { INVOCATION_VARIABLE, Members } from "units/manager/os/processes/members.ts";
import type { ProcessEntry } from "core/os/proc.ts";
import type { ServiceSpec } from "units/manager/units/service_spec.ts";
import { startChild, type StartedChild } from "units/manager/os/processes/started_child.ts";
import type { ExecutionContext } from "units/manager/os/runs/execution_context.ts";
import type { UnitLog } from "units/manager/os/runs/unit_log.ts";
import type { ManagerCause, RunEnd } from "units/manager/verdict.ts";

/** Maximum wait for remaining output after the last process of a run has gone. */
const OUTPUT_MS_MAX = 1_000;

/** Dependencies of an execution. */
export interface ExecutionDeps {
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly records: ChildRecords;
  /** The active executions; the manager checks them periodically. */
  readonly running: Set<Execution>;
  /** Takes over processes that may outlive their run. */
  readonly lingering: Lingering;
}

/** What to execute. */
export interface ExecutionPlan {
  readonly unit: string;
  readonly line: ExecLine;
  readonly spec: ServiceSpec;
  readonly context: ExecutionContext;
  readonly log: UnitLog;
  readonly connection: Socket | undefined;
  /** Prefix of each line, for logs that several instances share. */
  readonly linePrefix: string;
}

/** Starts an execution; rejects with one sentence when the program cannot be started. */
export async function startExecution(
  plan: ExecutionPlan,
  deps: ExecutionDeps,
): Promise<Execution> {
  const ready = Promise.withResolvers<void>();
  if (!plan.spec.isReadyByLog) ready.resolve();
  const child = await startChild(deps.kernel, {
    program: plan.line.program,
    args: expandVariables(plan.line.args, plan.context.env),
    env: plan.context.env,
    cwd: plan.context.cwd,
    umask: plan.spec.umask,
    connection: plan.connection,
    onStarted: (process) => deps.records.add(plan.unit, process),
    onLines: (lines, stream) => {
      plan.log.append(plan.linePrefix === "" ? lines : lines.map((it) => plan.linePrefix + it));
      if (stream === "stderr" && lines.some(isReadyLine)) ready.resolve();
    },
  });
  return new Execution(plan, child, deps, ready.promise);
}

function isReadyLine(line: string): boolean {
  if (!line.includes('"ready"')) return false;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "event" in value &&
      value.event === "ready";
  } catch {
    return false;
  }
}

/** A running execution. */
export class Execution {
  readonly plan: ExecutionPlan;
  readonly pid: number;
  /** Resolves when the program reports readiness, or immediately when it need not. */
  readonly ready: Promise<void>;
  /** Resolves when every process of the execution is gone; never rejects. */
  readonly finished: Promise<RunEnd>;
  readonly #child: StartedChild;
  readonly #deps: ExecutionDeps;
  readonly #members: Members;
  readonly #killing = new AbortController();
  #cause: ManagerCause | undefined;
  #detail = "";
  #isStopping = false;
  #hasExited = false;
  #isClientGone = false;
  #killLoop: Promise<unknown> | undefined;
  #cancelTimer = () => {};

  constructor(
    plan: ExecutionPlan,
    child: StartedChild,
    deps: ExecutionDeps,
    ready: Promise<void>,
  ) {
    this.plan = plan;
    this.pid = child.pid;
    this.ready = ready;
    this.#child = child;
    this.#deps = deps;
    this.#members = new Members(deps, child, plan.context.env[INVOCATION_VARIABLE] ?? "");
    deps.running.add(this);
    this.finished = this.#follow();
  }

  /**
   * Sends the stop signal, and kills after `TimeoutStopSec`. `cause` is set when the manager
   * decided to stop it.
   */
  stop(cause?: ManagerCause, detail = ""): void {
    this.#blame(cause, detail);
    if (this.#isStopping) return;
    this.#isStopping = true;
    // The processes that the main process left behind are already being ended.
    if (this.#hasExited) return;
    const { killMode, killSignal, stopMs } = this.plan.spec;
    this.#members.signal(killSignal, killMode === "control-group" ? undefined : this.pid);
    this.#killAfter(stopMs);
  }

  /** Kills every process of the execution now. */
  kill(cause?: ManagerCause, detail = ""): void {
    this.#blame(cause, detail);
    this.#isStopping = true;
    this.#cancelTimer();
    this.#killing.abort();
    this.#killLoop ??= this.#members.killAll();
  }

  /** Updates the members and checks their memory use. */
  watch(table: readonly ProcessEntry[]): void {
    const limit = this.plan.spec.memoryBytesMax;
    if (limit === Infinity) return void this.#members.refresh(table);
    const bytes = this.#members.memoryBytes(table);
    if (bytes > limit) this.kill("memory-limit", `${mebibytes(bytes)} of ${mebibytes(limit)}`);
  }

  /** Descriptor of the connection that the execution serves. */
  connectionDescriptor(): number | undefined {
    const handle = (this.plan.connection as unknown as { _handle?: { fd?: unknown } } | undefined)
      ?._handle;
    return typeof handle?.fd === "number" && handle.fd >= 0 ? handle.fd : undefined;
  }

  /**
   * The client has disconnected. The server has read the end of its input and must end within
   * `TimeoutStopSec`.
   */
  clientGone(): void {
    if (this.#isClientGone || this.#isStopping || this.#hasExited) return;
    this.#isClientGone = true;
    this.#killAfter(this.plan.spec.stopMs);
  }

  #killAfter(ms: number): void {
    this.#cancelTimer();
    if (ms === Infinity) return;
    this.#cancelTimer = this.#deps.clock.after(ms, () => {
      if (this.plan.spec.killMode !== "process") return this.kill();
      this.#members.signal("SIGKILL", this.pid);
    });
  }

  /** Records the first cause. A cause that comes after the main process has ended is ignored. */
  #blame(cause: ManagerCause | undefined, detail: string): void {
    if (cause === undefined || this.#cause !== undefined || this.#hasExited) return;
    this.#cause = cause;
    this.#detail = detail;
  }

  async #follow(): Promise<RunEnd> {
    const exit = await this.#child.exited;
    this.#hasExited = true;
    this.#cancelTimer();
    const others = this.#members.mainEnded();
    const doLinger = others.length > 0 && this.plan.spec.killMode === "process" &&
      !this.#killing.signal.aborted;
    if (doLinger) {
      this.#deps.lingering.add(this.plan.unit, this.#members, this.#child.outputEnded);
    } else if (others.length > 0) await this.#endOthers();
    await this.#killLoop;
    this.#deps.records.remove(this.#child);
    this.#deps.running.delete(this);
    this.plan.connection?.destroy();
    if (!doLinger) await this.#endOutput();
    return { exit, cause: this.#cause, detail: this.#detail };
  }

  async #endOutput(): Promise<void> {
    const waiting = new AbortController();
    await Promise.race([
      this.#child.outputEnded,
      this.#deps.clock.sleep(OUTPUT_MS_MAX, waiting.signal),
    ]);
    waiting.abort();
    this.#child.dropOutput();
  }

  async #endOthers(): Promise<void> {
    const { killMode, killSignal, stopMs } = this.plan.spec;
    if (killMode === "control-group" && !this.#killing.signal.aborted) {
      this.#members.signal(killSignal);
      await this.#members.waitGone(stopMs, this.#killing.signal);
    }
    const survivors = await this.#members.killAll();
    if (survivors.length === 0) return;
    const pids = survivors.map((member) => member.pid).join(", ");
    this.plan.log.append([`Processes ${pids} did not end after SIGKILL and were left running`]);
  }
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}
