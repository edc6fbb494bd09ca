/**
 * Deletes the journals of turns that have ended. The built-in runtime writes them (ADR 0036). Files
 * are chosen from the folder's own list, because a gateway chooses the ids of its turns.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";

/** The journals of one agent. */
export interface JournalFiles {
  /** Deletes the journals of turns that do not run. */
  tidy(): Promise<void>;
  /** Resolves when no deletion is in progress. */
  settled(): Promise<void>;
}

/** Creates the journals of the folder; it need not exist. */
export function createJournalFiles(
  { files, log, folder, runningTurns }: {
    readonly files: Pick<Files, "list" | "remove">;
    readonly log: Log;
    readonly folder: string;
    readonly runningTurns: () => readonly string[];
  },
): JournalFiles {
  let done: Promise<void> = Promise.resolve();
  async function remove(): Promise<void> {
    try {
      const names = await files.list(folder);
      // Read after the listing, because a turn runs before it has a journal.
      const kept = new Set(runningTurns().map((id) => `${id}.jsonl`));
      const ended = names.filter((name) => !kept.has(name));
      await Promise.all(ended.map((name) => files.remove(`${folder}/${name}`)));
    } catch (thrown) {
      // Retried when the next turn ends.
      log.warning("journals not deleted", { error: errorText(thrown) });
    }
  }
  return {
    tidy: () => done = done.then(remove),
    settled: () => done,
  };
}
