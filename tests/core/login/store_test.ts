/**
 * The store of the login proxy: rotating a reference that is missing or already used.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  type LoginStore,
  openLoginStore,
  type RefreshRow,
  type SessionRow,
} from "core/login/store.ts";
import { memoryHost } from "tests/fakes/host.ts";

const row = (digest: string): RefreshRow => ({
  digest,
  family: "family",
  principal: "ada@example.org",
  sealed: "sealed",
  expires: 100,
  isUsed: false,
});

const session = (id: string, family = "family"): SessionRow => ({
  id,
  principal: "ada@example.org",
  fingerprint: "f",
  created: 1,
  expires: 1_000,
  client: "c",
  agent: "a",
  family,
  seen: 1,
});

const ROTATIONS: readonly (readonly [string, (store: LoginStore) => unknown, boolean])[] = [
  ["nothing", () => {}, true],
  [
    "another rotation",
    ({ refreshes }) => refreshes.rotate("first", row("other"), session("other")),
    false,
  ],
  ["the end of its family", ({ refreshes }) => refreshes.endFamily("family"), false],
  ["the end of its principal's sessions", (store) => store.endAll("ada@example.org"), false],
  ["its expiry", (store) => store.sweep(100), false],
];

for (const [name, before, isRotated] of ROTATIONS) {
  Deno.test(`rotate() after ${name} ${isRotated ? "makes" : "makes no"} successor`, async () => {
    const store = await openLoginStore(memoryHost().databases, "/r/login.db");
    store.refreshes.add(row("first"));
    before(store);
    assert.deepEqual(store.refreshes.rotate("first", row("next"), session("new")), {
      ok: true,
      value: isRotated ? [] : undefined,
    });
    assert.equal(store.refreshes.find("next") !== undefined, isRotated);
    assert.equal(store.find("new") !== undefined, isRotated, "the session comes with it, or not");
    store.close();
  });
}

Deno.test("endFamily() ends references and sessions of one family, no other", async () => {
  const store = await openLoginStore(memoryHost().databases, "/r/login.db");
  store.refreshes.add(row("first"));
  for (const [id, family] of [["one", "family"], ["two", "family"], ["other", "else"]] as const) {
    store.add(session(id, family));
  }
  assert.deepEqual(store.refreshes.endFamily("family"), { ok: true, value: ["one", "two"] });
  assert.deepEqual(store.list().map(({ id }) => id), ["other"]);
  assert.equal(store.refreshes.find("first"), undefined);
  store.close();
});

Deno.test("openLoginStore() upgrades an older file, and loses no session", async () => {
  const { databases } = memoryHost();
  const old = await databases.open("/r/login.db");
  old.exec(`create table sessions (id text primary key, principal text not null,
    fingerprint text not null, created integer not null, expires integer not null,
    client text not null, agent text not null) strict, without rowid`);
  old.exec("insert into sessions values ('one', 'ada@example.org', 'f', 1, 1000, 'c', 'a')");
  old.exec("pragma user_version = 2");
  old.close();
  const store = await openLoginStore(databases, "/r/login.db");
  assert.deepEqual(store.find("one"), session("one", ""));
  assert.deepEqual(store.add(session("two")), { ok: true, value: [] });
  store.close();
});
