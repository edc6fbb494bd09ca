/**
 * Tables of the team-chat gateway's database.
 * Documented in `docs/storage.md`; the version is in `PRAGMA user_version`.
 *
 * @module
 */

import type { Database, SqlValue } from "core/ports/databases.ts";

/** Version of the tables. */
export const SCHEMA_VERSION = 7;

const TABLES = `
create table if not exists seen (
  key text primary key,
  until integer not null,
  answer text
) strict, without rowid;
create index if not exists seen_until on seen (until);
create table if not exists cursors (
  agent text not null,
  agent_epoch text not null,
  acked_seq integer not null,
  primary key (agent, agent_epoch)
) strict, without rowid;
create table if not exists turns (
  place integer primary key autoincrement,
  turn_id text not null unique,
  agent text not null,
  owner text not null,
  conversation text not null,
  activity text,
  site text not null,
  text text not null,
  state text not null,
  cancel_requested integer not null default 0,
  created integer not null,
  expires integer not null,
  changed integer not null,
  answer text not null default '',
  outcome text,
  reason text,
  stream text,
  stream_at integer,
  parts_sent integer not null default 0,
  cuts text not null default '[]',
  held text,
  sending integer not null default 0,
  ids text not null default '[]',
  delivery text,
  told integer not null default 0,
  send_id text
) strict;
create index if not exists turns_of on turns (agent, place) where ids <> '[]';
create index if not exists turns_open on turns (place) where state <> 'closed';
create index if not exists turns_closed on turns (changed) where state = 'closed';
create index if not exists turns_untold on turns (agent, place)
  where told = 0 and delivery is not null;
create unique index if not exists turns_sent on turns (agent, send_id) where send_id is not null;
create table if not exists owner_events (
  place integer primary key autoincrement,
  event_id text not null unique,
  agent text not null,
  kind text not null,
  payload text not null,
  created integer not null,
  turn_id text,
  turn_created integer,
  owner text
) strict;
create table if not exists turn_files (
  turn_id text not null,
  n integer not null,
  name text not null,
  kind text not null,
  url text not null,
  base text not null,
  state text not null,
  size integer,
  content_type text,
  fault text,
  primary key (turn_id, n)
) strict, without rowid;
create table if not exists owner_files (
  file_id text primary key,
  agent text not null,
  send_id text not null,
  owner text not null,
  conversation text not null,
  site text not null,
  name text not null,
  description text not null,
  size integer not null,
  state text not null,
  expires integer not null,
  upload text,
  unique (agent, send_id)
) strict, without rowid;
create index if not exists owner_events_of on owner_events (agent, place);
create table if not exists conversations (
  conversation text primary key,
  owner text not null,
  agent text not null,
  type text not null,
  site text not null,
  seen integer not null,
  blocked text
) strict, without rowid;
create index if not exists conversations_of on conversations (owner, type, seen);
create table if not exists absences (
  agent text primary key,
  noticed integer not null
) strict, without rowid;
`;

/** Changes of each version to existing tables; from version 1 on. */
const CHANGES: readonly string[] = [
  `alter table turns add column cuts text not null default '[]';
   alter table turns add column held text;
   update turns set cuts = json_array(json_object('at', 0, 'length', part_size))
     where part_size is not null;
   alter table turns drop column part_size;`,
  "alter table turns add column send_id text;",
  // Few of a day's turns are open: an index of only these is small, and one page serves many
  // writes.
  `drop index if exists turns_of;
   drop index if exists turns_in;
   drop index if exists turns_activity;`,
  // A delivery should touch few pages: one index of its agent, and adjacent keys of one moment.
  // Old keys are rewritten with the id first instead of last, so that earlier deliveries are still
  // recognized.
  `drop index if exists turns_of;
   drop index if exists turns_activity;
   drop index if exists turns_queued;
   drop index if exists turns_open;
   drop index if exists turns_untold;
   create table if not exists seen (
     key text primary key, until integer not null, answer text
   ) strict, without rowid;
   update or ignore seen set key = 'm|' ||
     substr(key, length(rtrim(key, replace(key, '|', ''))) + 1) || '|' ||
     substr(key, 1, length(rtrim(key, replace(key, '|', ''))) - 1)
     where (key like 'msteams|%|%|%' or key like 'emulator|%|%|%' or key like 'test|%|%|%')
       and key not like '%|%|%|%|%';`,
  // Owners' events are sent only while the agent belongs to that owner. Events without a known
  // owner are deleted.
  `create table if not exists owner_events (
     place integer primary key autoincrement, event_id text not null unique, agent text not null,
     kind text not null, payload text not null, created integer not null, turn_id text,
     turn_created integer
   ) strict;
   alter table owner_events add column owner text;
   update owner_events set owner =
     (select owner from turns where turns.turn_id = owner_events.turn_id) where kind <> 'file';
   delete from owner_events where owner is null and kind <> 'file';`,
  // `teamchat/store/open_turns.ts` indexes open turns in memory.
  "drop index if exists turns_open;",
];

/** Creates missing tables and migrates older ones. Refuses tables of a newer version. */
export function prepareSchema(db: Database): void {
  const version = Number(db.prepare("pragma user_version").get()?.user_version ?? 0);
  if (version > SCHEMA_VERSION) {
    throw new Error(
      `the database has version ${version}, this program knows ${SCHEMA_VERSION}: ` +
        "a newer fleetctl-teamchat wrote it",
    );
  }
  db.transaction(() => {
    if (version > 0) { for (const change of CHANGES.slice(version - 1)) db.exec(change); }
    db.exec(TABLES);
    db.exec(`pragma user_version = ${SCHEMA_VERSION}`);
  });
}

/** A row as SQLite returns it. */
export type Row = Readonly<Record<string, SqlValue>>;
