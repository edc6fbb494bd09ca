/**
 * The intake when something throws: everybody who waits is told, and the next delivery is stored.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type Database, FileFault } from "core/ports.ts";
import { type Delivery, openIntake } from "teamchat/store/intake.ts";
import { prepareSchema } from "teamchat/store/schema.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";
import { recordingLog } from "tests/fakes/log.ts";

const FAULTS: readonly {
  readonly what: string;
  readonly thrown?: Error;
  readonly delivery?: Partial<Delivery>;
  readonly code: string;
  readonly logged: number;
}[] = [
  { what: "a fault of the program", thrown: new TypeError("x"), code: "storage-failed", logged: 1 },
  {
    what: "a delivery that cannot be bound",
    delivery: { answer: (() => {}) as unknown as string },
    ...{ code: "storage-failed", logged: 1 },
  },
  // It is told to whoever asked, who logs it.
  { what: "a full disk", thrown: fullDisk(), code: "storage-full", logged: 0 },
];

for (const { what, thrown, delivery, code, logged } of FAULTS) {
  Deno.test(`${what} fails the deliveries of one write and nothing else`, async () => {
    using databases = withDispose(memoryDatabases());
    const db = await databases.open("/r/teamchat.db");
    prepareSchema(db);
    const faulty = failing(db, thrown);
    const [clock, log] = [fakeClock(), recordingLog()];
    const intake = openIntake(faulty.db, clock, log);
    const store = async (...all: readonly Delivery[]) => {
      const stored = Promise.all(all.map((each) => intake.store(each)));
      await clock.advance(0);
      return (await stored).map((each) => each.ok ? each.value.kind : each.error.code);
    };
    faulty.arm();
    assert.deepEqual(await store(of("one"), { ...of("two"), ...delivery }), [code, code]);
    assert.equal(log.of("not stored").length, logged);
    // No trace of the failed write: the platform's repetition is new.
    assert.deepEqual(await store(of("one"), of("two")), ["new", "new"]);
  });
}

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
