/**
 * Questions to a person in the dial unit's database. `units/dial/store.ts` writes a change and its
 * event in one transaction, so that a crash cannot separate them.
 *
 * @module
 */

import { QUESTION_LIMITS } from "core/limits/question.ts";
import type { Database } from "core/ports/databases.ts";
import { isOpenQuestion, type Question } from "core/questions/question.ts";

/** SQL of the table. */
export const QUESTION_TABLE = `
create table if not exists questions (
  place integer primary key autoincrement,
  question_id text not null unique,
  is_open integer not null,
  body text not null
) strict;
create index if not exists questions_open on questions (place) where is_open = 1;
`;

/** Reads and writes questions. */
export interface QuestionTable {
  find(id: string): Question | undefined;
  open(): readonly Question[];
  /** The newest ones, newest first. */
  newest(limit: number): readonly Question[];
  /** Writes one question; call it only inside a transaction. */
  put(question: Question): void;
}

/** Opens the table of a prepared database. */
export function openQuestionTable(db: Database): QuestionTable {
  const find = db.prepare("select body from questions where question_id = ?");
  const open = db.prepare("select body from questions where is_open = 1 order by place");
  const newest = db.prepare("select body from questions order by place desc limit ?");
  const put = db.prepare(
    "insert into questions (question_id, is_open, body) values (?, ?, ?) " +
      "on conflict (question_id) do update set is_open = excluded.is_open, body = excluded.body",
  );
  const forget = db.prepare(
    "delete from questions where is_open = 0 and place <= (select max(place) from questions) - ?",
  );
  const read = (row: { readonly [name: string]: unknown }) =>
    JSON.parse(String(row.body)) as Question;
  return {
    find: (id) => {
      const row = find.get(id);
      return row === undefined ? undefined : read(row);
    },
    open: () => open.all().map(read),
    newest: (limit) => newest.all(limit).map(read),
    put: (question) => {
      const isOpen = isOpenQuestion(question);
      put.run(question.id, isOpen ? 1 : 0, JSON.stringify(question));
      if (!isOpen) forget.run(QUESTION_LIMITS.endedKept);
    },
  };
}
