/**
 * What a runner of turns needs. Types only.
 *
 * @module
 */

import type { PreviewEvent } from "core/dial/event.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Ceilings } from "units/dial/ceilings.ts";
import type { CutNotes } from "units/dial/cut_table.ts";
import type { Recorder } from "units/dial/recorder.ts";
import type { SupervisedRuntime } from "units/dial/runtime.ts";
import type { DialStore } from "units/dial/store.ts";
import type { TurnImages } from "units/dial/turn_images.ts";
import type { Worktrees } from "units/dial/worktrees/worktrees.ts";

/** Dependencies of the runner. */
export interface RunnerDeps {
  readonly store: DialStore;
  readonly recorder: Recorder;
  readonly runtime: SupervisedRuntime;
  readonly clock: Clock;
  readonly log: Log;
  readonly images: TurnImages;
  /** Runs one job at a time, across all runners of the same runtime. */
  readonly exclusive: (job: () => Promise<void>) => Promise<void>;
  readonly onPreview: (event: PreviewEvent) => void;
  readonly onBusy: (isBusy: boolean) => void;
  /** Prepares the folder of a conversation before its turn; absent when all share one folder. */
  readonly worktrees?: Pick<Worktrees, "prepare"> | undefined;
  /** The agent's spend ceilings, if it has any; compared before each turn. */
  readonly ceilings?: Pick<Ceilings, "check" | "running"> | undefined;
  /** Notes about turns that were cut off. */
  readonly cuts: CutNotes;
  /** Ends the open approvals of a turn that does not continue. */
  readonly withdrawApprovals: (turnId: string) => void;
  /** Called when the end of a turn is on disk. */
  readonly onEnded?: (turnId: string) => void;
  /** Called when a turn continues in a new process of the runtime. */
  readonly onResumed: (turnId: string) => void;
}
