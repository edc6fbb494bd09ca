/**
 * Tables of an older version keep their content after the migration.
 *
 * @module
 */

import assert from "node:assert/strict";
import { prepareSchema, SCHEMA_VERSION } from "teamchat/store/schema.ts";
import { openTurnRows } from "teamchat/store/turn_rows.ts";
import { openTurnStore } from "teamchat/store/turns.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";

/** The table of turns in version 1. */
const VERSION_1 = `
create table turns (
  place integer primary key autoincrement, turn_id text not null unique, agent text not null,
  owner text not null, conversation text not null, activity text, site text not null,
  text text not null, state text not null, cancel_requested integer not null default 0,
  created integer not null, expires integer not null, changed integer not null,
  answer text not null default '', outcome text, reason text, stream text, stream_at integer,
  parts_sent integer not null default 0, part_size integer, sending integer not null default 0,
  ids text not null default '[]', delivery text, told integer not null default 0
) strict;
insert into turns (turn_id, agent, owner, conversation, site, text, state, created, expires,
  changed, answer, part_size) values
  ('t1', 'bea', 'o', 'a:1', '{}', 'q', 'ended', 1, 2, 3, 'an answer', 2000),
  ('t2', 'bea', 'o', 'a:1', '{}', 'q', 'ended', 1, 2, 3, 'another', null);
pragma user_version = 1;
`;

Deno.test("prepareSchema() keeps turns of version 1, and how answers were split", async () => {
  const databases = memoryDatabases();
  try {
    const db = await databases.open("/r/teamchat.db");
    db.exec(VERSION_1);
    prepareSchema(db);
    prepareSchema(db);
    assert.equal(db.prepare("pragma user_version").get()?.user_version, SCHEMA_VERSION);
    const write = () => Promise.reject(new Error("nothing is written"));
    const turns = openTurnStore(db, { write, writeLater: write }, openTurnRows(db)).unanswered();
    assert.deepEqual(turns.map(({ turnId, answer, progress }) => [turnId, answer, progress.cuts]), [
      ["t1", "an answer", [{ at: 0, length: 2_000 }]],
      ["t2", "another", []],
    ]);
  } finally {
    databases.dispose();
  }
});

Deno.test("prepareSchema() rewrites the keys of deliveries, and no others", async () => {
  const databases = memoryDatabases();
  try {
    const db = await databases.open("/r/teamchat.db");
    prepareSchema(db);
    const keep = db.prepare("insert into seen (key, until) values (?, 1)");
    const others = [
      "msteams|a:1|messageUpdate|17|2026-01-01",
      "nonce|abc",
      "invoke|a:1|29:x|17|adaptiveCard/action|{}",
      "handover|0b0b",
    ];
    for (const key of ["msteams|a:1|message|17", "msteams|19:x;messageid=1|invoke|f:18"]) {
      keep.run(key);
    }
    for (const key of others) keep.run(key);
    db.exec("alter table owner_events drop column owner; pragma user_version = 4");
    prepareSchema(db);
    const keys = db.prepare("select key from seen").all().map(({ key }) => String(key));
    const wanted = ["m|17|msteams|a:1|message", "m|f:18|msteams|19:x;messageid=1|invoke"];
    assert.deepEqual(keys.toSorted(), [...wanted, ...others].toSorted());
  } finally {
    databases.dispose();
  }
});

Deno.test("prepareSchema() finds the owner of an event, and drops events without one", async () => {
  const databases = memoryDatabases();
  try {
    const db = await databases.open("/r/teamchat.db");
    db.exec(VERSION_1);
    prepareSchema(db);
    db.exec("alter table owner_events drop column owner; pragma user_version = 5");
    const insert = db.prepare(
      "insert into owner_events (event_id, agent, kind, payload, created, turn_id) " +
        "values (?, 'bea', ?, '{}', 1, ?)",
    );
    insert.run("e1", "feedback", "t1");
    insert.run("e2", "reaction", "swept");
    insert.run("e3", "feedback", null);
    insert.run("e4", "file", null);
    prepareSchema(db);
    const rows = db.prepare("select event_id, owner from owner_events order by place").all();
    assert.deepEqual(rows.map(({ event_id: id, owner }) => [id, owner]), [["e1", "o"], [
      "e4",
      null,
    ]]);
  } finally {
    databases.dispose();
  }
});

Deno.test("prepareSchema() drops the index of agents", async () => {
  const databases = memoryDatabases();
  try {
    const db = await databases.open("/r/teamchat.db");
    prepareSchema(db);
    db.exec(`drop index turns_open; pragma user_version = 6;
      create index turns_open on turns (agent, state, place) where state <> 'closed'`);
    prepareSchema(db);
    const index = db.prepare("select sql from sqlite_schema where name = 'turns_open'").get();
    assert.match(String(index?.sql), /on turns \(place\) where/);
  } finally {
    databases.dispose();
  }
});

Deno.test("prepareSchema() refuses tables of a newer version", async () => {
  const databases = memoryDatabases();
  try {
    const db = await databases.open("/r/teamchat.db");
    db.exec(`pragma user_version = ${SCHEMA_VERSION + 1}`);
    assert.throws(() => prepareSchema(db), /a newer fleetctl-teamchat wrote it/);
  } finally {
    databases.dispose();
  }
});
