/**
 * Files of turns for the agent. The bytes are in a folder beside the database. This table records
 * which files are wanted, stored or missing, and why. The address is deleted after its use.
 *
 * | State | Meaning |
 * |---|---|
 * | wanted | to be downloaded; its turn waits |
 * | here | in the folder |
 * | absent | not available, with the reason |
 *
 * @module
 */

import type { Database } from "core/ports/databases.ts";
import type { Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";
import type { FileRef } from "core/teamchat/file_refs.ts";
import type { Row } from "teamchat/store/schema.ts";

/** A file of a turn. */
export interface StoredTurnFile {
  readonly turnId: string;
  readonly n: number;
  readonly ref: FileRef;
  /** Address of the file's conversation. */
  readonly base: string;
  readonly state: "wanted" | "here" | "absent";
  readonly size: number | undefined;
  readonly type: string | undefined;
  readonly fault: string | undefined;
}

/** Result of a download. */
export type SettledFile =
  | { readonly size: number; readonly type: string }
  | { readonly fault: string };

/** Files of turns. */
export interface TurnFileStore {
  of(turnId: string): readonly StoredTurnFile[];
  /** Turns that wait for files. */
  wanting(): readonly { readonly turnId: string; readonly agent: string }[];
  settle(turnId: string, n: number, what: SettledFile): Result<void>;
  /** Turns that no longer need their files, because their agent has them or they ended. */
  loose(): readonly string[];
  forget(turnId: string): Result<void>;
}

/** Opens the store over prepared tables. */
export function openTurnFiles(db: Database): TurnFileStore {
  const of = db.prepare("select * from turn_files where turn_id = ? order by n");
  const wanting = db.prepare(
    "select distinct turn_id, agent from turn_files join turns using (turn_id) " +
      "where turn_files.state = 'wanted'",
  );
  const settle = db.prepare(
    "update turn_files set state = ?, size = ?, content_type = ?, fault = ?, url = '' " +
      "where turn_id = ? and n = ?",
  );
  const loose = db.prepare(
    "select distinct turn_id from turn_files where turn_id not in " +
      "(select turn_id from turns where state <> 'closed' and state = 'queued')",
  );
  const forget = db.prepare("delete from turn_files where turn_id = ?");
  return {
    of: (turnId) => of.all(turnId).map(readFile),
    wanting: () =>
      wanting.all().map((row) => ({ turnId: String(row.turn_id), agent: String(row.agent) })),
    settle: (turnId, n, what) =>
      writeSql(db, "the file", () => {
        if ("fault" in what) settle.run("absent", null, null, what.fault, turnId, n);
        else settle.run("here", what.size, what.type, null, turnId, n);
      }),
    loose: () => loose.all().map((row) => String(row.turn_id)),
    forget: (turnId) =>
      writeSql(db, "the file", () => {
        forget.run(turnId);
      }),
  };
}

function readFile(row: Row): StoredTurnFile {
  const text = (value: Row[string] | undefined) =>
    value === null || value === undefined ? undefined : String(value);
  return {
    turnId: String(row.turn_id),
    n: Number(row.n),
    ref: {
      kind: String(row.kind) as FileRef["kind"],
      name: String(row.name),
      url: String(row.url),
    },
    base: String(row.base),
    state: String(row.state) as StoredTurnFile["state"],
    size: row.size === null ? undefined : Number(row.size),
    type: text(row.content_type),
    fault: text(row.fault),
  };
}
