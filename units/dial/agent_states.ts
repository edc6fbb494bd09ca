/**
 * Reports the agent's state to its host (a file) and to the cockpit (an event).
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { type AgentState, ASLEEP } from "core/dial/event.ts";
import type { ReportedSandbox } from "core/dial/host_state.ts";
import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { QUESTION_WAITS } from "core/questions/question.ts";
import type { Waiting } from "units/dial/pending.ts";
import type { Recorder } from "units/dial/recorder.ts";
import { createStateFile } from "units/dial/state_file.ts";

/** Reports the agent's state. */
export interface States {
  report(state: AgentState, reason?: string): void;
  /** Reports the state of the runtime. */
  runtime(state: AgentState | "asleep", reason?: string): void;
  busy(isBusy: boolean): void;
  /** Reports why a ceiling pauses the agent; undefined when it no longer does. */
  paused(reason: string | undefined): void;
  /** Reports whether an approval or a question waits for a person. */
  waiting(what: Waiting, isWaiting: boolean): void;
  isWaiting(): boolean;
  settled(): Promise<void>;
}

/** Dependencies of the states. */
export interface StateDeps {
  readonly files: Pick<Files, "write">;
  readonly clock: Clock;
  readonly log: Log;
  readonly folder: string;
  /** What the state file says about the sandbox of commands. */
  readonly sandbox?: ReportedSandbox | undefined;
  /** Records events for the cockpit; undefined without one, or before it is open. */
  readonly recorder: () => Recorder | undefined;
}

/** Creates the reports of one agent; `folder` must exist. */
export function createStates(deps: StateDeps): States {
  const { clock, log, recorder } = deps;
  const stateFile = createStateFile(deps);
  let isBusy = false;
  const waits = { approval: false, question: false };
  let isAsleep = false;
  let pausedBy: string | undefined;
  const report = (state: AgentState, reason?: string) => {
    stateFile.write(state, reason);
    const payload = { state, since: clock.now(), ...defined({ reason }) };
    recorder()?.record([{ at: clock.now(), kind: "agent_state", payload }], {
      isControl: true,
    }).catch((thrown) => log.error("state not recorded", { error: errorText(thrown) }));
  };
  const reportNow = () => {
    if (waits.approval) return report("waiting-approval");
    // An older gateway cannot read a new state, so questions use the state of approvals.
    if (waits.question) return report("waiting-approval", QUESTION_WAITS);
    if (isBusy) return report("working");
    report("idle", pausedBy ?? (isAsleep ? ASLEEP : undefined));
  };
  return {
    report,
    runtime: (state, reason) => {
      isAsleep = state === "asleep";
      if (state === "asleep" || (state === "idle" && pausedBy !== undefined)) reportNow();
      else report(state, reason);
    },
    busy: (is) => {
      isBusy = is;
      reportNow();
    },
    paused: (reason) => {
      if (reason === pausedBy) return;
      pausedBy = reason;
      reportNow();
    },
    waiting: (what, isWaiting) => {
      waits[what] = isWaiting;
      reportNow();
    },
    isWaiting: () => waits.approval || waits.question,
    settled: () => stateFile.settled(),
  };
}
