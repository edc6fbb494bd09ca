/**
 * The retention of the gateway's event log. Events are taken from its old end only: an event that
 * looks old because the clock of its host was wrong lies behind younger ones, and stays with them.
 * Nothing goes when every event looks old: then it is this host's clock that is likely wrong.
 *
 * Root writes to the database of the gateway's user while the gateway runs: SQLite serializes the
 * two, and as root it gives files that it makes beside a database to the database's owner.
 *
 * @module
 */

import type { Database, Databases, Files } from "core/ports.ts";

/** Events that go, or what keeps them. */
export interface ExpiredEvents {
  readonly count: number;
  readonly bytes: number;
  /** Why none goes although some look old. */
  readonly note: string | undefined;
}

/** Rows of one transaction: the gateway waits no longer than that takes. */
const BATCH_ROWS = 2_000;

const NONE: ExpiredEvents = { count: 0, bytes: 0, note: undefined };
/** Events of turns that are not over are still needed to go on. */
const EXPIRED = `seq < ? and (turn_id is null or turn_id not in
  (select turn_id from turns where state <> 'ended'))`;

/** Counts what is older than `beforeMs` and, unless it is a dry run, deletes it. */
export async function expireEvents(
  ports: { readonly files: Pick<Files, "stat">; readonly databases: Databases },
  path: string,
  options: { readonly beforeMs: number; readonly isDryRun: boolean },
): Promise<ExpiredEvents> {
  if (await ports.files.stat(path) === undefined) return NONE;
  const db = await ports.databases.open(path);
  try {
    const end = firstYoung(db, options.beforeMs);
    if (end === undefined) return NONE;
    if (end === "all old") {
      return { ...NONE, note: "every event looks that old: is the clock of this host right?" };
    }
    const found = db.prepare(
      `select count(*) as count, coalesce(sum(length(payload)), 0) as bytes from events where ${EXPIRED}`,
    ).get(end);
    if (!options.isDryRun) deleteBelow(db, end);
    return { count: Number(found?.count ?? 0), bytes: Number(found?.bytes ?? 0), note: undefined };
  } finally {
    db.close();
  }
}

function firstYoung(db: Database, beforeMs: number): number | "all old" | undefined {
  const young = db.prepare("select min(seq) as seq from events where at >= ?").get(beforeMs);
  if (young?.seq !== null && young?.seq !== undefined) return Number(young.seq);
  const any = db.prepare("select count(*) as count from events").get();
  return Number(any?.count ?? 0) === 0 ? undefined : "all old";
}

function deleteBelow(db: Database, end: number): void {
  const remove = db.prepare(
    `delete from events where seq in (select seq from events where ${EXPIRED} limit ${BATCH_ROWS})`,
  );
  while (db.transaction(() => remove.run(end).changes) > 0) {
    // One short transaction after the other, so that the gateway writes in between.
  }
}
