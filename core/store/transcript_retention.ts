/**
 * Decides which rows of the gateway's transcripts may be deleted, and deletes them in short
 * transactions. Pure apart from the given database. `fleetctl gc` and the gateway decide when to
 * run it.
 *
 * Events are deleted only from the old end of the log:
 * - An old event that follows a recent one stays: the clock of its host was wrong.
 * - An event with a future time stays too, but does not block others. Otherwise one agent with a
 *   fast clock would keep all events of the fleet.
 * - Events of an unfinished turn stay.
 *
 * A turn stays as long as one of its events does, and long enough to recognize its key. The key
 * distinguishes a repeated request or event from a new one. Cursors always stay.
 *
 * @module
 */

import type { Database } from "core/ports/databases.ts";
import { DAY_MS } from "core/text/duration.ts";

/** Number of deleted or deletable rows; bytes count the events' payloads. */
export interface ExpiredRows {
  readonly events: number;
  readonly bytes: number;
  readonly turns: number;
}

/** Limits for deletion: the event number, the event times, and the creation time of turns. */
export interface RetentionBound {
  readonly seq: number;
  readonly atMaxMs: number;
  readonly createdBeforeMs: number;
}

/** Retention of one open gateway database. */
export interface Retention {
  /**
   * Returns the bound for a time; undefined when no event exists. Returns "all old" when no event
   * is recent; then this host's clock is probably wrong.
   */
  boundOf(beforeMs: number, nowMs: number): RetentionBound | "all old" | undefined;
  count(bound: RetentionBound): ExpiredRows;
  /** Deletes one batch in one transaction; zero events and turns mean that it is finished. */
  deleteSome(bound: RetentionBound): { readonly events: number; readonly turns: number };
}

/** Rows per transaction; bounds how long other writers wait. */
const BATCH_ROWS = 2_000;
/** How long a page that was offline, or an agent, may repeat the key of a turn. */
const KEY_KEPT_MS = 7 * DAY_MS;

/** Maximum lead of another host's clock; later times are not trusted. */
const AHEAD_MS = DAY_MS;

const EVENTS = `from events where seq < ? and at <= ? and
  (turn_id is null or turn_id not in (select turn_id from turns where state <> 'ended'))`;
/** A table without ends comes from an older gateway; then use the start of a turn. */
const turnsFor = (hasEnds: boolean) => {
  const last = hasEnds ? "end_seq" : "turns.seq";
  return `from turns where ${last} < ? and created < ? and state = 'ended' and
    coalesce((select at from events where events.seq = ${last}), 0) <= ?`;
};

/** Returns whether turns record their last event; older versions did not. */
export function hasEndColumn(db: Database): boolean {
  return db.prepare("select 1 from pragma_table_info('turns') where name = 'end_seq'").get() !==
    undefined;
}

/** Prepares the retention of a database with existing tables. */
export function openRetention(db: Database): Retention {
  const young = db.prepare("select min(seq) as seq from events where at between ? and ?");
  const any = db.prepare("select 1 from events limit 1");
  const countEvents = db.prepare(
    `select count(*) as count, coalesce(sum(length(payload)), 0) as bytes ${EVENTS}`,
  );
  // The running gateway may still be the version from before an upgrade.
  const turns = turnsFor(hasEndColumn(db));
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
