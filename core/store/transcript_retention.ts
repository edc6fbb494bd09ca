/**
 * What may go of the gateway's transcripts, and taking it in short transactions. Pure but for the
 * database that it is given; when to do it is for others: `fleetctl gc` and the gateway itself.
 *
 * Events are taken from the old end of the log only: one that looks old because the clock of its
 * host was wrong lies behind younger ones, and stays with them. One of a time to come stays as
 * well, but holds nobody else: otherwise one agent whose clock runs ahead would keep everything of
 * everybody. Those of a turn that is not over stay. A turn stays as long as an event of it does,
 * and long enough to know its key again: it is what tells a request or an event that comes twice
 * from a new one. Cursors always stay.
 *
 * @module
 */

import type { Database } from "core/ports/databases.ts";
import { DAY_MS } from "core/text/duration.ts";

/** Rows that are or would be gone; bytes are those of the events' payloads. */
export interface ExpiredRows {
  readonly events: number;
  readonly bytes: number;
  readonly turns: number;
}

/** Below which number events may go, of which times, and until when turns had to be queued. */
export interface RetentionBound {
  readonly seq: number;
  readonly atMaxMs: number;
  readonly createdBeforeMs: number;
}

/** Retention of one open database of the gateway. */
export interface Retention {
  /**
   * Returns the bound for a time; undefined when nothing is that old, and "all old" when every
   * event is: then it is this host's clock that is likely wrong.
   */
  boundOf(beforeMs: number, nowMs: number): RetentionBound | "all old" | undefined;
  count(bound: RetentionBound): ExpiredRows;
  /** Deletes some in one transaction; nothing is left when it returns zero. */
  deleteSome(bound: RetentionBound): { readonly events: number; readonly turns: number };
}

/** Rows of one transaction: who else writes waits no longer than that takes. */
const BATCH_ROWS = 2_000;
/** How long a page that lost its network, or an agent, may come again with the key of a turn. */
const KEY_KEPT_MS = 7 * DAY_MS;

/** How far the clock of another host may run ahead for its times to be believed. */
const AHEAD_MS = DAY_MS;

const EVENTS = `from events where seq < ? and at <= ? and
  (turn_id is null or turn_id not in (select turn_id from turns where state <> 'ended'))`;
/** A table without ends is that of an older gateway: a turn goes by its beginning. */
const turnsFor = (hasEnds: boolean) => {
  const last = hasEnds ? "end_seq" : "turns.seq";
  return `from turns where ${last} < ? and created < ? and state = 'ended' and
    coalesce((select at from events where events.seq = ${last}), 0) <= ?`;
};

/** Returns whether turns note their last event: before this version they did not. */
export function noteEnds(db: Database): boolean {
  return db.prepare("select 1 from pragma_table_info('turns') where name = 'end_seq'").get() !==
    undefined;
}

/** Prepares the retention of a database whose tables are there. */
export function openRetention(db: Database): Retention {
  const young = db.prepare("select min(seq) as seq from events where at between ? and ?");
  const any = db.prepare("select 1 from events limit 1");
  const countEvents = db.prepare(
    `select count(*) as count, coalesce(sum(length(payload)), 0) as bytes ${EVENTS}`,
  );
  // The gateway may still be the one that ran before an upgrade.
  const turns = turnsFor(noteEnds(db));
  const countTurns = db.prepare(`select count(*) as count ${turns}`);
  const dropEvents = db.prepare(
    `delete from events where seq in (select seq ${EVENTS} limit ${BATCH_ROWS})`,
  );
  const dropTurns = db.prepare(
    `delete from turns where turn_id in (select turn_id ${turns} limit ${BATCH_ROWS})`,
  );
  return {
    boundOf: (beforeMs, nowMs) => {
      const atMaxMs = nowMs + AHEAD_MS;
      const seq = young.get(beforeMs, atMaxMs)?.seq;
      if (seq === null || seq === undefined) return any.get() === undefined ? undefined : "all old";
      const createdBeforeMs = Math.min(beforeMs, nowMs - KEY_KEPT_MS);
      return { seq: Number(seq), atMaxMs, createdBeforeMs };
    },
    count: ({ seq, atMaxMs, createdBeforeMs }) => {
      const events = countEvents.get(seq, atMaxMs);
      return {
        events: Number(events?.count ?? 0),
        bytes: Number(events?.bytes ?? 0),
        turns: Number(countTurns.get(seq, createdBeforeMs, atMaxMs)?.count ?? 0),
      };
    },
    deleteSome: ({ seq, atMaxMs, createdBeforeMs }) =>
      db.transaction(() => ({
        events: dropEvents.run(seq, atMaxMs).changes,
        turns: dropTurns.run(seq, createdBeforeMs, atMaxMs).changes,
      })),
  };
}
