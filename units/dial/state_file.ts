/**
 * The agent's state as a small file in the dial unit's folder, for `fleetctl agents list` on this
 * host. The newest state counts; one that comes while another is being written takes the next turn.
 *
 * @module
 */

import type { AgentState } from "core/dial/event.ts";
import { printToldState, STATE_FILE, type ToldState } from "core/dial/host_state.ts";
import { errorText } from "core/errors.ts";
import type { Clock, Files, Log } from "core/ports.ts";

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
  let next: ToldState | undefined;
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    while (next !== undefined) {
      const told = next;
      next = undefined;
      try {
        await files.write(`${parts.folder}/${STATE_FILE}`, printToldState(told), { mode: 0o600 });
      } catch (thrown) {
        log.warning("state not written", { state: told.state, error: errorText(thrown) });
      }
    }
    writing = undefined;
  }

  return {
    tell(state, reason) {
      next = { startedMs, state, sinceMs: clock.now(), reason };
      writing ??= writeAll();
    },
    settled: async () => await writing,
  };
}
