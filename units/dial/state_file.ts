/**
 * The agent's state as a small file in the dial unit's folder, for `fleetctl agents list` on this
 * host. The newest state counts.
 *
 * @module
 */

import type { AgentState } from "core/dial/event.ts";
import { printToldState, STATE_FILE } from "core/dial/host_state.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { createNewestFile } from "units/dial/newest_file.ts";

/** Where states are told. */
export interface StateFile {
  /** Writes it soon; a full disk is logged and changes nothing else. */
  tell(state: AgentState, reason: string | undefined): void;
  /** Resolves when what was told is written. */
  settled(): Promise<void>;
}

/** Creates the teller; `folder` must be there. */
export function createStateFile(
  parts: {
    readonly files: Pick<Files, "write">;
    readonly clock: Clock;
    readonly log: Log;
    readonly folder: string;
  },
): StateFile {
  const { files, clock, log } = parts;
  const startedMs = clock.now();
  const file = createNewestFile({ files, log, path: `${parts.folder}/${STATE_FILE}` });
  return {
    tell: (state, reason) =>
      file.tell(printToldState({ startedMs, state, sinceMs: clock.now(), reason })),
    settled: file.settled,
  };
}
