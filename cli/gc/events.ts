/**
 * What `fleetctl gc` takes of the gateway's transcripts; `core/store/transcript_retention.ts` says
 * what may go. Nothing goes when every event looks old.
 *
 * Root writes to the database of the gateway's user while the gateway runs: SQLite serializes the
 * two, and as root it gives files that it makes beside a database to the database's owner.
 *
 * @module
 */

import type { Databases } from "core/ports/databases.ts";
import type { Files } from "core/ports/files.ts";
import { openRetention } from "core/store/transcript_retention.ts";

/** What goes, or what keeps it. */
export interface ExpiredEvents {
  readonly count: number;
  readonly bytes: number;
  /** Turns whose events all went. */
  readonly turns: number;
  /** Why none goes although some look old. */
  readonly note: string | undefined;
}

const NONE: ExpiredEvents = { count: 0, bytes: 0, turns: 0, note: undefined };

/** Counts what is older than `beforeMs` and, unless it is a dry run, deletes it. */
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
      return { ...NONE, note: "every event looks that old: is the clock of this host right?" };
    }
    const { events: count, bytes, turns } = retention.count(bound);
    if (!options.isDryRun) {
      for (let gone = retention.deleteSome(bound); gone.events + gone.turns > 0;) {
        // One short transaction after the other, so that the gateway writes in between.
        gone = retention.deleteSome(bound);
      }
    }
    return { count, bytes, turns, note: undefined };
  } finally {
    db.close();
  }
}
