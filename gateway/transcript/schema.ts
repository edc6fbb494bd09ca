/**
 * Tables of the gateway's database.
 * Documented in `docs/storage.md`; the version is in `PRAGMA user_version`.
 *
 * @module
 */

import { APPROVAL_TABLES } from "gateway/approvals/approval_store.ts";
import type { Database, SqlValue } from "core/ports/databases.ts";
import { QUESTION_TABLES } from "gateway/questions/question_store.ts";
import { hasEndColumn } from "core/store/transcript_retention.ts";
import { prepareConversations } from "gateway/transcript/conversations.ts";
import { prepareTurnCounts } from "gateway/transcript/turn_counts.ts";
import { prepareUsage } from "gateway/transcript/usage.ts";

/** Version of the tables. */
const SCHEMA_VERSION = 1;

const TABLES = `
create table if not exists meta (name text primary key, value text not null) strict;
create table if not exists events (
  seq integer primary key autoincrement,
  agent text not null,
  agent_epoch text,
  agent_seq integer,
  at integer not null,
  turn_id text,
  kind text not null,
  payload text not null
) strict;
create unique index if not exists events_once on events (agent, agent_epoch, agent_seq)
  where agent_seq is not null;
create index if not exists events_of_agent on events (agent, seq);
create table if not exists cursors (
  agent text not null,
  agent_epoch text not null,
  acked_seq integer not null,
  primary key (agent, agent_epoch)
) strict, without rowid;
create table if not exists turns (
  turn_id text primary key,
  agent text not null,
  text text not null,
  origin text not null,
  hops integer not null,
  asker text not null,
  idempotency_key text not null,
  state text not null,
  cancel_requested integer not null default 0,
  created integer not null,
  seq integer not null,
  end_seq integer,
  conversation text,
  unique (asker, idempotency_key)
) strict;
create index if not exists turns_open on turns (agent, seq) where state <> 'ended';
create index if not exists turns_over on turns (end_seq, created) where end_seq is not null;
create trigger if not exists turn_over after insert on events when new.kind = 'turn_ended' begin
  update turns set end_seq = new.seq where turn_id = new.turn_id and agent = new.agent;
end;
create table if not exists agents (
  agent text primary key,
  state text,
  reason text,
  since integer
) strict;
create table if not exists dial_keys (
  agent text not null,
  key text not null,
  at integer not null,
  primary key (agent, key)
) strict, without rowid;
`;

/** Creates missing tables and returns the epoch of this database's events. */
export function prepareSchema(db: Database, newEpoch: string): string {
  const version = Number(db.prepare("pragma user_version").get()?.user_version ?? 0);
  if (version > SCHEMA_VERSION) {
    throw new Error(
      `the database has version ${version}, this program knows ${SCHEMA_VERSION}: ` +
        "a newer fleetctl-gateway wrote it",
    );
  }
  return db.transaction(() => {
    addEndOfTurns(db);
    addConversationOfTurns(db);
    db.exec(TABLES);
    db.exec(APPROVAL_TABLES);
    db.exec(QUESTION_TABLES);
    prepareUsage(db);
    prepareTurnCounts(db);
    prepareConversations(db);
    db.exec(`pragma user_version = ${SCHEMA_VERSION}`);
    db.prepare("insert or ignore into meta (name, value) values ('epoch', ?)").run(newEpoch);
    return String(db.prepare("select value from meta where name = 'epoch'").get()?.value);
  });
}

/**
 * Adds the column for the end of a turn. Older gateways did not record the end event; such a turn
 * is dated by its beginning. An older gateway still works with the added column.
 */
function addEndOfTurns(db: Database): void {
  const isThere = db.prepare("select 1 from sqlite_schema where name = 'turns'").get();
  if (isThere === undefined || hasEndColumn(db)) return;
  db.exec(`
    alter table turns add column end_seq integer;
    update turns set end_seq = seq where state = 'ended';
  `);
}

/**
 * Adds the column for the conversation of a turn. Turns of older gateways are of the default one.
 */
function addConversationOfTurns(db: Database): void {
  const columns = db.prepare("select name from pragma_table_info('turns')").all();
  if (columns.length === 0 || columns.some(({ name }) => name === "conversation")) return;
  db.exec("alter table turns add column conversation text");
}

/** A row as SQLite returns it. */
export type Row = Readonly<Record<string, SqlValue>>;
