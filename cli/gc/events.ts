/**
 * What `fleetctl gc` deletes from the gateway's transcripts. `core/store/transcript_retention.ts`
 * decides which events may be deleted. If every event looks old, it deletes nothing.
 *
 * Root writes to the database of the gateway's user while the gateway runs. SQLite serializes the
 * two writers. As root, SQLite gives new files beside a database to the database's owner.
 *
 * @module
 */

import type { Databases } from "core/ports/databases.ts";
import type { Files } from "core/ports/files.ts";
import { openRetention } from "core/store/transcript_retention.ts";

/** What is deleted, or the reason to keep everything. */
export interface ExpiredEvents {
  readonly count: number;
  readonly bytes: number;
  /** Number of turns whose events are all deleted. */
  readonly turns: number;
  /** Why nothing is deleted although some events look old. */
  readonly note: string | undefined;
}

const NONE: ExpiredEvents = { count: 0, bytes: 0, turns: 0, note: undefined };

/** Counts the events older than `beforeMs`. Unless it is a dry run, deletes them. */
export async function expireEvents(
  ports: { readonly files: Pick<Files, "stat">; readonly databases: Databases },
  path: string,
  options: { readonly beforeMs: number; readonly nowMs: number; readonly isDryRun: boolean },
): Promise<ExpiredEvents> {
  if (await ports.files.stat(path) === undefined) return NONE;
  const db = await ports.databases.open(path);
  try {
    const retention = openRetention(db);
    const bound = retention.boundOf(options.beforeMs, options.nowMs);
    if (bound === undefined) return NONE;
    if (bound === "all old") {
      return { ...NONE, note: "every event seems that old: is the clock of this host right?" };
    }
    const { events: count, bytes, turns } = retention.count(bound);
    if (!options.isDryRun) {
      for (let gone = retention.deleteSome(bound); gone.events + gone.turns > 0;) {
        // Short transactions let the gateway write in between.
        gone = retention.deleteSome(bound);
      }
    }
    return { count, bytes, turns, note: undefined };
  } finally {
    db.close();
  }
}
