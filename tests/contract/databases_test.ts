/**
 * One suite for `Databases`, run against SQLite on disk and the fake in memory.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Databases } from "core/ports/databases.ts";
import { sqliteDatabases } from "core/os/sqlite.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";
import { contractOf } from "tests/contract/subjects.ts";

const contract = contractOf<Databases>([
  {
    name: "sqliteDatabases",
    open: async () => {
      const root = await Deno.makeTempDir();
      return [
        sqliteDatabases(),
        `${root}/store.db`,
        () => Deno.remove(root, { recursive: true }),
      ];
    },
  },
  {
    name: "memoryDatabases",
    open: async () => {
      const databases = memoryDatabases();
      return [databases, "/store.db", async () => databases.dispose()];
    },
  },
]);

contract("keeps what was committed when it is opened again", async (databases, path) => {
  const first = await databases.open(path);
  first.exec("CREATE TABLE event (seq INTEGER PRIMARY KEY, body TEXT NOT NULL)");
  const done = first.prepare("INSERT INTO event (body) VALUES (?)").run("one");
  assert.deepEqual(done, { changes: 1, lastInsertRowid: 1 });
  first.close();
  const second = await databases.open(path);
  assert.deepEqual({ ...second.prepare("SELECT * FROM event").get() }, { seq: 1, body: "one" });
  second.close();
});

contract("gives back every kind of value", async (databases, path) => {
  const db = await databases.open(path);
  db.exec("CREATE TABLE t (a, b, c, d)");
  const values = [null, "grüße", 2.5, Uint8Array.of(0, 255)] as const;
  db.prepare("INSERT INTO t VALUES (?, ?, ?, ?)").run(...values);
  const row = db.prepare("SELECT * FROM t").get();
  assert.deepEqual([row?.["a"], row?.["b"], row?.["c"]], [null, "grüße", 2.5]);
  assert.deepEqual([...row?.["d"] as Uint8Array], [0, 255]);
  assert.equal(db.prepare("SELECT * FROM t WHERE b = ?").get("none"), undefined);
  assert.equal(db.prepare("SELECT * FROM t").all().length, 1);
  db.close();
});

contract("rolls a transaction back when its work throws", async (databases, path) => {
  const db = await databases.open(path);
  db.exec("CREATE TABLE t (n INTEGER)");
  const insert = db.prepare("INSERT INTO t VALUES (?)");
  const count = () => db.prepare("SELECT count(*) AS n FROM t").get()?.["n"];
  assert.equal(db.transaction(() => insert.run(1).changes), 1);
  assert.throws(() =>
    db.transaction(() => {
      insert.run(2);
      throw new Error("no");
    }), /no/);
  assert.equal(count(), 1);
  assert.throws(() => db.transaction(() => db.transaction(() => 0)), /one is open already/);
  assert.throws(() =>
    db.transaction(async () => {
      insert.run(3);
    }), /asynchronous/);
  assert.equal(count(), 1);
  db.close();
});

contract("refuses rows that break a reference", async (databases, path) => {
  const db = await databases.open(path);
  db.exec("CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a INTEGER REFERENCES a(id))");
  assert.throws(() => db.prepare("INSERT INTO b VALUES (7)").run(), /FOREIGN KEY/);
  db.close();
});

contract("lets a mistake in a statement be the error it is", async (databases, path) => {
  const db = await databases.open(path);
  assert.throws(() => db.prepare("SELECT nonsense FROM nowhere"), /no such table/);
  db.close();
});
