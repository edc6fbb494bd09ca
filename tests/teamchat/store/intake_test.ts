/**
 * Writes that are grouped: one transaction in the order of arrival. When something throws, every
 * waiting caller gets the error, and the next delivery is stored.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Database } from "core/ports/databases.ts";
import { FileFault } from "core/ports/files.ts";
import { ok } from "core/result.ts";
import { createConversationCache } from "teamchat/store/conversation_cache.ts";
import { type Delivery, openIntake } from "teamchat/store/intake.ts";
import { openWriter } from "teamchat/store/batch.ts";
import { prepareSchema } from "teamchat/store/schema.ts";
import type { NewTurn } from "teamchat/store/turn.ts";
import { openTurnRows } from "teamchat/store/turn_rows.ts";
import { openTurnStore } from "teamchat/store/turns.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";
import { recordingLog } from "tests/fakes/log.ts";

const FAULTS: readonly {
  readonly what: string;
  readonly thrown?: Error;
  readonly delivery?: Partial<Delivery>;
  /** The results of the two deliveries of one write. */
  readonly codes: readonly string[];
  readonly logged: number;
}[] = [
  { what: "a fault of the program", thrown: new TypeError("x"), codes: ["new", "new"], logged: 0 },
  {
    what: "a delivery that cannot be bound",
    delivery: { answer: (() => {}) as unknown as string },
    codes: ["new", "storage-failed"],
    logged: 1,
  },
  // The result goes to the caller, which logs it.
  { what: "a full disk", thrown: fullDisk(), codes: ["storage-full", "storage-full"], logged: 0 },
];

for (const { what, thrown, delivery, codes, logged } of FAULTS) {
  Deno.test(`${what} fails its own request and no other`, async () => {
    using databases = withDispose(memoryDatabases());
    const db = await databases.open("/r/teamchat.db");
    prepareSchema(db);
    const faulty = failing(db, thrown);
    const [clock, log] = [fakeClock(), recordingLog()];
    const rows = openTurnRows(db);
    const { write } = openWriter({ db: faulty.db, clock, log, rows });
    const { open } = rows;
    const intake = openIntake(faulty.db, {
      clock,
      log,
      write,
      conversations: createConversationCache(),
      open,
    });
    const store = async (...all: readonly Delivery[]) => {
      const stored = Promise.all(all.map((each) => intake.store(each)));
      await clock.advance(0);
      return (await stored).map((each) => each.ok ? each.value.kind : each.error.code);
    };
    faulty.arm();
    assert.deepEqual(await store(of("one"), { ...of("two"), ...delivery }), codes);
    assert.equal(log.of("not stored").length, logged);
    // A failed write leaves no trace: the platform's repetition counts as new.
    const again = codes.map((each) => each === "new" ? "duplicate" : "new");
    assert.deepEqual(await store(of("one"), of("two")), again);
  });
}

Deno.test("requests that arrive together are one transaction, in order", async () => {
  using databases = withDispose(memoryDatabases());
  const db = await databases.open("/r/teamchat.db");
  prepareSchema(db);
  let transactions = 0;
  const counting: Database = {
    ...db,
    transaction: (work) => {
      transactions++;
      return db.transaction(work);
    },
  };
  const [clock, log] = [fakeClock(), recordingLog()];
  const rows = openTurnRows(counting);
  const writing = openWriter({ db: counting, clock, log, rows });
  const { write, flush } = writing;
  const turns = openTurnStore(counting, writing, rows);
  const { open } = rows;
  const intake = openIntake(counting, {
    clock,
    log,
    write,
    conversations: createConversationCache(),
    open,
  });
  const stored = intake.store({ ...of("one"), turn: TURN });
  const delivered = turns.markDelivered("bea", "t", 1);
  const events = [{ seq: 1, at: 1, turn_id: "t", kind: "turn_started", payload: {} }];
  const appended = turns.append("bea", "e", events, 1);
  const other = turns.append("cal", "e", [{ seq: 1, at: 1, kind: "note", payload: {} }], 1);
  assert.equal(turns.get("t"), undefined);
  await clock.advance(0);
  assert.deepEqual([(await stored).ok, await delivered], [true, ok(true)]);
  const [bea, cal] = [await appended, await other];
  assert.ok(bea.ok && cal.ok);
  assert.deepEqual(bea.value.effects, [{ kind: "started", turnId: "t" }]);
  assert.equal(cal.value.ackedSeq, 1);
  assert.equal(transactions, 1);
  const progress = { partsSent: 1, ids: ["m"] };
  const closed = turns.close("t", { outcome: "delivered", reason: undefined, progress }, 2);
  flush();
  assert.ok((await closed).ok);
  assert.equal(transactions, 2);
  assert.deepEqual(turns.unreported("bea").map(({ progress: { ids } }) => ids), [["m"]]);
});

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

function of(key: string): Delivery {
  return { keys: [{ key, until: 10 }], now: 1 };
}

/** A database whose next transaction throws, once it is armed. */
function failing(db: Database, thrown: Error | undefined) {
  let isArmed = false;
  const transaction: Database["transaction"] = (work) => {
    if (!isArmed || thrown === undefined) return db.transaction(work);
    isArmed = false;
    throw thrown;
  };
  return { db: { ...db, transaction }, arm: () => isArmed = true };
}

function fullDisk(): FileFault {
  return new FileFault("ENOSPC", "/r/teamchat.db", "full");
}

function withDispose<T extends { dispose(): void }>(it: T): T & Disposable {
  return { ...it, [Symbol.dispose]: () => it.dispose() };
}
