/**
 * Notes for the runtime's next turn, in the dial unit's database: outcomes of messages, and what
 * the owner did with answers. Each is given to the runtime once. Its id is kept, so that a repeated
 * note is recognized.
 *
 * @module
 */

import type { Database } from "core/ports/databases.ts";
import type { Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";

/** SQL of the table. */
export const NOTE_TABLE = `
create table if not exists notes (
  place integer primary key autoincrement,
  note_id text not null unique,
  text text not null,
  is_told integer not null default 0
) strict;
create index if not exists notes_untold on notes (place) where is_told = 0;
`;

/** Maximum number of notes with one turn; more would add nothing useful. */
const AT_ONCE_MAX = 8;
/** Maximum number of notes kept. */
const KEPT_MAX = 512;

/** Notes that wait for a turn. */
export interface NoteTable {
  /** Stores a note; a repeated id changes nothing. */
  add(id: string, text: string): Result<void>;
  /** Returns the oldest notes and marks them as delivered. */
  take(): readonly string[];
}

/** Opens the table of a prepared database. */
export function openNoteTable(db: Database): NoteTable {
  const add = db.prepare("insert or ignore into notes (note_id, text) values (?, ?)");
  const trim = db.prepare(
    "delete from notes where place <= (select max(place) from notes) - ?",
  );
  const undelivered = db.prepare(
    "select place, text from notes where is_told = 0 order by place limit ?",
  );
  const markDelivered = db.prepare("update notes set is_told = 1, text = '' where place = ?");
  return {
    add: (id, text) =>
      writeSql(db, "the note", () => {
        add.run(id, text);
        trim.run(KEPT_MAX);
      }),
    take: () => {
      const rows = undelivered.all(AT_ONCE_MAX);
      if (rows.length === 0) return [];
      // If this write fails, the next turn repeats the notes.
      writeSql(db, "the note", () => rows.forEach(({ place }) => markDelivered.run(place ?? 0)));
      return rows.map(({ text }) => String(text));
    },
  };
}
