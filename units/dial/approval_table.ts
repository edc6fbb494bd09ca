/**
 * Approvals in the dial unit's database. `units/dial/store.ts` writes a change and its event in one
 * transaction, so that a crash cannot separate them.
 *
 * @module
 */

import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import type { Database } from "core/ports/databases.ts";
import type { Approval } from "core/risk/approval.ts";

/** SQL of the table. */
export const APPROVAL_TABLE = `
create table if not exists approvals (
  place integer primary key autoincrement,
  approval_id text not null unique,
  is_open integer not null,
  body text not null
) strict;
create index if not exists approvals_open on approvals (place) where is_open = 1;
`;

/** Reads and writes approvals. */
export interface ApprovalTable {
  find(id: string): Approval | undefined;
  open(): readonly Approval[];
  /** Those of a turn, oldest first. */
  ofTurn(turnId: string): readonly Approval[];
  /** The newest ones, newest first. */
  newest(limit: number): readonly Approval[];
  /** Writes one approval; call it only inside a transaction. */
  put(approval: Approval, isOpen: boolean): void;
}

/** Opens the table of a prepared database. */
export function openApprovalTable(db: Database): ApprovalTable {
  const find = db.prepare("select body from approvals where approval_id = ?");
  const open = db.prepare("select body from approvals where is_open = 1 order by place");
  const ofTurn = db.prepare(
    "select body from approvals where body ->> '$.turnId' = ? order by place",
  );
  const newest = db.prepare("select body from approvals order by place desc limit ?");
  const put = db.prepare(
    "insert into approvals (approval_id, is_open, body) values (?, ?, ?) " +
      "on conflict (approval_id) do update set is_open = excluded.is_open, body = excluded.body",
  );
  const forget = db.prepare(
    "delete from approvals where is_open = 0 and place <= (select max(place) from approvals) - ?",
  );
  const read = (row: { readonly [name: string]: unknown }) =>
    JSON.parse(String(row.body)) as Approval;
  return {
    find: (id) => {
      const row = find.get(id);
      return row === undefined ? undefined : read(row);
    },
    open: () => open.all().map(read),
    ofTurn: (turnId) => ofTurn.all(turnId).map(read),
    newest: (limit) => newest.all(limit).map(read),
    put: (approval, isOpen) => {
      put.run(approval.id, isOpen ? 1 : 0, JSON.stringify(approval));
      if (!isOpen) forget.run(APPROVAL_LIMITS.endedKept);
    },
  };
}
