/**
 * One attempt to run a service: prepare, run `ExecStartPre=`, run the program, clean up. It ends
 * when its last process is gone. It enforces the limits on start and run time.
 * `units/manager/verdict.ts` decides whether another attempt follows.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { ExecLine } from "units/manager/units/exec_line.ts";
import {
  type Execution,
  type ExecutionDeps,
  startExecution,
} from "units/manager/os/runs/execution.ts";
import type { ServiceSpec } from "units/manager/units/service_spec.ts";
import {
  type ExecutionContext,
  type ExecutionContextDeps,
  prepareExecutionContext,
  removeExecutionContext,
} from "units/manager/os/runs/execution_context.ts";
import type { UnitLog } from "units/manager/os/runs/unit_log.ts";
import { failureOf, type RunEnd } from "units/manager/verdict.ts";

/** Dependencies of an attempt. */
export interface AttemptDeps {
  readonly clock: Clock;
  readonly execution: ExecutionDeps;
  readonly context: ExecutionContextDeps;
}

/** Callbacks through which an attempt reports progress and checks whether to continue. */
export interface AttemptHooks {
  /** A program was started; the receiver can stop it. */
  onExecution(execution: Execution): void;
  /** The service is ready; called at most once. */
  onReady(): void;
  isStopRequested(): boolean;
}

const CLEAN: RunEnd = { exit: { code: 0, signal: undefined }, cause: undefined, detail: "" };

/** Runs a service once; never rejects. */
export async function runAttempt(
  of: { readonly unit: string; readonly spec: ServiceSpec; readonly log: UnitLog },
  deps: AttemptDeps,
  hooks: AttemptHooks,
): Promise<RunEnd> {
  const { unit, spec, log } = of;
  let current: Execution | undefined;
  const timers = createTimers(deps.clock, spec, () => current);
  try {
    const context = await prepareExecutionContext(unit, spec, deps.context);
    const start = async (line: ExecLine) => {
      current = await startExecution(planOf(of, line, context), deps.execution);
      hooks.onExecution(current);
      return current;
    };
    for (const line of spec.execBefore) {
      if (hooks.isStopRequested()) return CLEAN;
      const end = await (await start(line)).finished;
      if (failureOf(spec.restart, end) !== undefined && !line.mayFail) return end;
    }
    if (hooks.isStopRequested()) return CLEAN;
    const main = await start(spec.exec);
    if (spec.type !== "oneshot") void main.ready.then(() => timers.ready(hooks.onReady));
    const end = await main.finished;
    const isForgiven = spec.exec.mayFail && end.cause === undefined;
    const isClean = isForgiven || failureOf(spec.restart, end) === undefined;
    if (isClean && spec.type === "oneshot") hooks.onReady();
    return isForgiven ? CLEAN : end;
  } catch (thrown) {
    log.append([errorText(thrown)]);
    return { exit: undefined, cause: "resources", detail: errorText(thrown) };
  } finally {
    timers.end();
    await removeExecutionContext(unit, spec, deps.context).catch((thrown) => {
      log.append([`Cannot remove the credentials of the run: ${errorText(thrown)}`]);
    });
  }
}

function planOf(
  of: { readonly unit: string; readonly spec: ServiceSpec; readonly log: UnitLog },
  line: ExecLine,
  context: ExecutionContext,
) {
  return { ...of, line, context, connection: undefined, linePrefix: "" };
}

/** The start limit applies until the service is ready, the run limit from then on. */
function createTimers(
  clock: Clock,
  spec: ServiceSpec,
  current: () => Execution | undefined,
): { ready(onReady: () => void): void; end(): void } {
  let isOver = false;
  let cancel = after(clock, spec.startMs, () => {
    current()?.stop("timeout", `not ready within ${spec.startMs / 1000} s`);
  });
  return {
    ready(onReady) {
      if (isOver) return;
      cancel();
      cancel = after(clock, spec.runtimeMaxMs, () => {
        current()?.stop("runtime-limit", `of ${spec.runtimeMaxMs / 1000} s`);
      });
      onReady();
    },
    end() {
      isOver = true;
      cancel();
    },
  };
}

function after(clock: Clock, ms: number, run: () => void): () => void {
  return ms === Infinity ? () => {} : clock.after(ms, run);
}
