/**
 * Cached rows of turns: one write for all changes of a transaction, nothing left of a rolled-back
 * one, and no cached turn that a caller could change.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Database } from "core/ports/databases.ts";
import { FileFault } from "core/ports/files.ts";
import type { Delivery } from "teamchat/store/intake.ts";
import { prepareSchema } from "teamchat/store/schema.ts";
import { openTeamchatStore, type TeamchatStore } from "teamchat/store/store.ts";
import type { NewTurn } from "teamchat/store/turn.ts";
import { openTurnRows } from "teamchat/store/turn_rows.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";
import { recordingLog } from "tests/fakes/log.ts";

const TURN: NewTurn = {
  turnId: "t",
  agent: "bea",
  owner: "o",
  activity: "a",
  text: "q",
  created: 1,
  expires: 9,
  context: { base: "", conversation: "a:1", type: "personal", bot: { id: "b" }, user: { id: "u" } },
};

const EVENTS = [
  { seq: 1, at: 1, turn_id: "t", kind: "turn_started", payload: {} },
  message(2, "one"),
  message(3, "two"),
  { seq: 4, at: 1, turn_id: "t", kind: "turn_ended", payload: { outcome: "completed" } },
];

Deno.test("a batch's changes to a turn are one update, visible at once", async () => {
  await using world = await open();
  const { store, writes, settle } = world;
  await settle(store.intake.store(delivery({ turn: TURN })));
  writes.length = 0;
  const done = Promise.all([
    store.turns.markDelivered("bea", "t", 2),
    store.turns.append("bea", "e", EVENTS, 3),
  ]);
  await settle(done);
  assert.deepEqual(writes.filter((sql) => sql.startsWith("update turns")).length, 1);
  const turn = store.turns.get("t");
  assert.deepEqual([turn?.state, turn?.answer], ["ended", "one\n\ntwo"]);
  assert.deepEqual(world.stored(), ["ended", "one\n\ntwo", "q", 3]);
  const progress = { partsSent: 1, ids: ["m"] };
  await settle(
    store.turns.close("t", { outcome: "delivered", reason: undefined, progress }, 4),
  );
  assert.deepEqual(world.stored(), ["closed", "", "", 4]);
  assert.deepEqual(store.turns.get("t")?.progress.ids, ["m"]);
});

Deno.test("the changes of a transaction that was rolled back are dropped", async () => {
  await using world = await open();
  const { store, settle } = world;
  await settle(store.intake.store(delivery({ turn: TURN })));
  await settle(store.turns.markDelivered("bea", "t", 2));
  world.failNext();
  const appended = await settle(store.turns.append("bea", "e", EVENTS, 3));
  assert.deepEqual(appended.ok, false);
  const turn = store.turns.get("t");
  assert.deepEqual([turn?.state, turn?.answer], ["delivered", ""]);
  // The agent resends them, and they count.
  const again = await settle(store.turns.append("bea", "e", EVENTS, 3));
  assert.equal(again.ok && again.value.ackedSeq, 4);
  assert.deepEqual(world.stored(), ["ended", "one\n\ntwo", "q", 3]);
});

Deno.test("an edit in the same batch as the acceptance changes the current row", async () => {
  await using world = await open();
  const { store, settle } = world;
  await settle(store.intake.store(delivery({ turn: TURN })));
  assert.equal(store.turns.get("t")?.text, "q");
  const done = Promise.all([
    store.turns.markDelivered("bea", "t", 2),
    store.intake.store(
      delivery({
        key: "edit",
        edit: { agent: "bea", conversation: "a:1", activity: "a", text: "edited" },
      }),
    ),
  ]);
  await settle(done);
  assert.deepEqual(world.stored(), ["delivered", "", "edited", 2]);
  assert.equal(store.turns.get("t")?.text, "edited");
});

Deno.test("an accepted turn has the current text of its row", async () => {
  await using world = await open();
  const { store, settle } = world;
  await settle(store.intake.store(delivery({ turn: TURN })));
  assert.equal(store.turns.nextFor("bea")?.isLast, true);
  const edit = { agent: "bea", conversation: "a:1", activity: "a", text: "edited" };
  await settle(store.intake.store(delivery({ key: "edit", edit })));
  await settle(store.turns.markDelivered("bea", "t", 2));
  assert.deepEqual(world.stored(), ["delivered", "", "edited", 2]);
  await settle(store.intake.store(
    delivery({ key: "k2", turn: { ...TURN, turnId: "u", activity: "b" } }),
  ));
  await settle(store.intake.store(
    delivery({ key: "k3", turn: { ...TURN, turnId: "v", activity: "c" } }),
  ));
  assert.deepEqual(store.turns.nextFor("bea")?.isLast, false);
  assert.ok(store.turns.requestCancel("u").ok);
  const withdraw = { agent: "bea", conversation: "a:1", activity: "b" };
  assert.equal(store.turns.nextFor("bea")?.turn.turnId, "u");
  await settle(store.intake.store(delivery({ key: "gone", withdraw })));
  await settle(store.turns.markDelivered("bea", "u", 3));
  assert.equal(store.turns.get("u")?.state, "closed");
  assert.deepEqual(store.turns.nextFor("bea")?.turn.turnId, "v");
});

Deno.test("a turn withdrawn in the batch of its acceptance stays withdrawn", async () => {
  await using world = await open();
  const { store, settle } = world;
  await settle(store.intake.store(delivery({ turn: TURN })));
  const done = Promise.all([
    store.turns.markDelivered("bea", "t", 2),
    store.intake.store(
      delivery({ key: "gone", withdraw: { agent: "bea", conversation: "a:1", activity: "a" } }),
    ),
    store.turns.append("bea", "e", EVENTS, 3),
  ]);
  await settle(done);
  assert.deepEqual(world.stored().slice(0, 2), ["closed", ""]);
});

Deno.test("rows of long answers are read each time; unsaved ones stay in memory", async () => {
  const db = await memoryDatabases().open("/t.db");
  prepareSchema(db);
  insertTurns(db, 5_000);
  const rows = openTurnRows(db);
  db.transaction(() => {
    for (let n = 0; n < 5_000; n++) {
      const turn = rows.get(`t${n}`);
      assert.ok(turn !== undefined);
      rows.change(turn, { state: "running", answer: n === 7 ? "x".repeat(20_000) : "a" });
    }
    rows.save();
  });
  const counted = db.prepare("select count(*) as n from turns where state = 'running'").get();
  assert.equal(counted?.n, 5_000);
  db.exec("update turns set answer = 'changed by hand'");
  assert.equal(rows.get("t7")?.answer, "changed by hand");
  assert.equal(rows.get("t4999")?.answer, "a");
  rows.forget();
  assert.equal(rows.get("t4999")?.answer, "changed by hand");
});

function message(seq: number, text: string) {
  const payload = { message_id: `m${seq}`, role: "assistant", text };
  return { seq, at: 1, turn_id: "t", kind: "message", payload };
}

function delivery({ key = "k", ...more }: Partial<Delivery> & { key?: string }): Delivery {
  return { keys: [{ key, until: 10 }], now: 1, ...more };
}

function insertTurns(db: Database, count: number): void {
  const insert = db.prepare(
    "insert into turns (turn_id, agent, owner, conversation, site, text, state, created, " +
      "expires, changed) values (?, 'bea', 'o', 'c', '{}', '', 'delivered', 1, 9, 1)",
  );
  db.transaction(() => {
    for (let n = 0; n < count; n++) insert.run(`t${n}`);
  });
}

interface World extends AsyncDisposable {
  readonly store: TeamchatStore;
  /** Statements that wrote. */
  readonly writes: string[];
  /** Returns state, answer, text and time of change of the turn, as stored in the file. */
  stored(): readonly unknown[];
  /** Makes the next transaction fail at its end, as on a full disk. */
  failNext(): void;
  settle<T>(work: Promise<T>): Promise<T>;
}

async function open(): Promise<World> {
  const databases = memoryDatabases();
  const [clock, log] = [fakeClock(), recordingLog()];
  const plain = await databases.open("/r/t.db");
  const writes: string[] = [];
  let isFailing = false;
  const db: Database = {
    ...plain,
    prepare: (sql) => {
      const statement = plain.prepare(sql);
      const run: typeof statement.run = (...values) => {
        writes.push(sql);
        return statement.run(...values);
      };
      return { ...statement, run };
    },
    transaction: (work) =>
      plain.transaction(() => {
        const value = work();
        if (isFailing) {
          isFailing = false;
          throw new FileFault("ENOSPC", "/r/t.db", "no space left on the disk");
        }
        return value;
      }),
  };
  const opening = { open: () => Promise.resolve(db) };
  const store = await openTeamchatStore(opening, "/r/t.db", clock, log);
  const read = plain.prepare("select state, answer, text, changed from turns where turn_id = 't'");
  return {
    store,
    writes,
    stored: () => Object.values(read.get() ?? {}),
    failNext: () => {
      isFailing = true;
    },
    settle: async (work) => {
      await clock.advance(0);
      return await work;
    },
    [Symbol.asyncDispose]: () => {
      databases.dispose();
      return Promise.resolve();
    },
  };
}
