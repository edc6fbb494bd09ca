/**
 * Notes about turns that were cut off, in the dial unit's database. The next turns of the same
 * conversation carry them until one of these turns is completed: a program may forget the message
 * of a turn that is cut, failed or cancelled.
 *
 * @module
 */

import { DEFAULT_CONVERSATION } from "core/dial/conversation.ts";
import type { Database } from "core/ports/databases.ts";
import type { Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";

/** SQL of the table. */
export const CUT_TABLE = `
create table if not exists cuts (
  place integer primary key autoincrement,
  turn_id text not null unique,
  conversation text not null,
  text text not null
) strict;
`;

/** Notes with one turn; the oldest of a conversation are dropped. */
const AT_ONCE_MAX = 4;
/** Maximum number of notes kept, across all conversations. */
const KEPT_MAX = 64;

/** A note about a turn that was cut off. */
export interface CutNote {
  readonly turnId: string;
  /** Absent for the default one. */
  readonly conversation?: string | undefined;
  readonly text: string;
}

/** Notes that wait for a turn of their conversation. */
export interface CutTable {
  /** The notes of a conversation, oldest first. */
  of(conversation: string | undefined): readonly CutNote[];
  /** Stores a note; only in a transaction. */
  put(note: CutNote): void;
  /** Deletes the notes about these turns. */
  drop(turnIds: readonly string[]): Result<void>;
}

/** Opens the table of a prepared database. */
export function openCutTable(db: Database): CutTable {
  const of = db.prepare("select turn_id, text from cuts where conversation = ? order by place");
  const put = db.prepare(
    "insert or ignore into cuts (turn_id, conversation, text) values (?, ?, ?)",
  );
  const trim = db.prepare(
    "delete from cuts where conversation = ?1 and place not in " +
      "(select place from cuts where conversation = ?1 order by place desc limit ?2)",
  );
  const trimAll = db.prepare("delete from cuts where place <= (select max(place) from cuts) - ?");
  const drop = db.prepare("delete from cuts where turn_id = ?");
  return {
    of: (conversation) =>
      of.all(conversation ?? DEFAULT_CONVERSATION).map((row) => ({
        turnId: String(row.turn_id),
        conversation,
        text: String(row.text),
      })),
    put: ({ turnId, conversation = DEFAULT_CONVERSATION, text }) => {
      put.run(turnId, conversation, text);
      trim.run(conversation, AT_ONCE_MAX);
      trimAll.run(KEPT_MAX);
    },
    drop: (turnIds) =>
      writeSql(db, "the note", () => turnIds.forEach((turnId) => drop.run(turnId))),
  };
}

/** Notes about cut turns of all gateways: the runtime has one history for them. */
export type CutNotes = Omit<CutTable, "put">;

/** Joins the notes of all gateways. */
export function joinCutNotes(tables: readonly CutNotes[]): CutNotes {
  return {
    of: (conversation) => tables.flatMap((table) => [...table.of(conversation)]),
    drop: (turnIds) => {
      const dropped = tables.map((table) => table.drop(turnIds));
      return dropped.find(({ ok }) => !ok) ?? { ok: true, value: undefined };
    },
  };
}
