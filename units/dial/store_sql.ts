/**
 * The prepared statements of a dial unit's store, and the readers of their rows.
 *
 * @module
 */

import type { DurableEvent } from "core/dial/event.ts";
import type { Database, SqlValue } from "core/ports/databases.ts";

/** Prepares the statements. */
export function statements(db: Database) {
  return {
    meta: db.prepare("select value from meta where name = ?"),
    setMeta: db.prepare("update meta set value = ? where name = ?"),
    first: db.prepare("select min(seq) as seq from outbox having count(*) > 0"),
    bytes: db.prepare("select coalesce(sum(bytes), 0) as n from outbox"),
    bytesBetween: db.prepare(
      "select coalesce(sum(bytes), 0) as n from outbox where seq > ? and seq <= ?",
    ),
    insert: db.prepare(
      "insert into outbox (seq, at, turn_id, kind, bytes, payload) values (?, ?, ?, ?, ?, ?)",
    ),
    drop: db.prepare("delete from outbox where seq <= ?"),
    read: db.prepare("select * from outbox where seq between ? and ? order by seq"),
    accept: db.prepare(
      "insert or ignore into turns (turn_id, text, origin, conversation, files, state) " +
        "values (?, ?, ?, ?, ?, 'accepted')",
    ),
    next: db.prepare("select * from turns where state = 'accepted' order by place limit 1"),
    state: db.prepare("select state from turns where turn_id = ?"),
    turn: db.prepare("select origin, state from turns where turn_id = ?"),
    running: db.prepare("select turn_id from turns where state = 'running' order by place"),
    ofConversation: db.prepare(
      "select 1 from turns where conversation = ? and state <> 'ended' limit 1",
    ),
    open: db.prepare(
      "select turn_id from turns where state <> 'ended' or end_seq > ? order by place",
    ),
    find: db.prepare("select * from turns where turn_id = ? and state <> 'ended'"),
    begin: db.prepare(
      "update turns set state = 'running', text = coalesce(?, text) where turn_id = ?",
    ),
    // An ended turn no longer needs its text. Its id stays, to recognize a repeated turn.
    end: db.prepare("update turns set state = 'ended', end_seq = ?, text = '' where turn_id = ?"),
    forget: db.prepare(
      "delete from turns where state = 'ended' and end_seq <= ? and place <= " +
        "(select max(place) from turns) - ?",
    ),
    shiftEvents: db.prepare("update outbox set seq = -seq - ?"),
    shiftEnds: db.prepare("update turns set end_seq = end_seq - ? where end_seq is not null"),
  };
}

/** Reads an event of the outbox. */
export function readEvent(row: Readonly<Record<string, SqlValue>>): DurableEvent {
  return {
    seq: Number(row.seq),
    at: Number(row.at),
    ...(row.turn_id === null ? {} : { turn_id: String(row.turn_id) }),
    kind: String(row.kind),
    payload: JSON.parse(String(row.payload)) as Record<string, unknown>,
  };
}
