/**
 * The agent's state as a small file in the dial unit's folder, for `fleetctl agents list` on this
 * host. It contains only the newest state.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { AgentState } from "core/dial/event.ts";
import { printReportedState, type ReportedSandbox, STATE_FILE } from "core/dial/host_state.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { createNewestFile } from "units/dial/newest_file.ts";

/** Writer of the agent's state. */
export interface StateFile {
  /** Schedules a write. A failed write is logged and has no other effect. */
  write(state: AgentState, reason: string | undefined): void;
  /** Resolves when the last state is written. */
  settled(): Promise<void>;
}

/** Creates the writer; `folder` must exist. */
export function createStateFile(
  deps: {
    readonly files: Pick<Files, "write">;
    readonly clock: Clock;
    readonly log: Log;
    readonly folder: string;
    readonly sandbox?: ReportedSandbox | undefined;
  },
): StateFile {
  const { files, clock, log } = deps;
  const sandbox = defined({ sandbox: deps.sandbox });
  const startedMs = clock.now();
  const file = createNewestFile({ files, log, path: `${deps.folder}/${STATE_FILE}` });
  return {
    write: (state, reason) =>
      file.write(
        printReportedState({ startedMs, state, sinceMs: clock.now(), reason, ...sandbox }),
      ),
    settled: file.settled,
  };
}
