/**
 * Tests of the dial unit's store: outbox, turns, and what survives a restart.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { TURN_LIMITS } from "core/limits/turn.ts";
import { type DialStore, openDialStore } from "units/dial/store.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";

const draft = (text: string, turnId?: string) => ({
  at: 1,
  turnId,
  kind: "notice",
  payload: { text },
});
const texts = (store: DialStore, from = 1, to = 1e9) =>
  store.read(from, to).map((event) => `${event.seq}:${event.payload.text}`);

function test(
  name: string,
  fn: (open: (epoch?: string) => Promise<DialStore>) => Promise<void>,
): void {
  Deno.test(name, async () => {
    const databases = memoryDatabases();
    await fn((epoch = "e1") => openDialStore(databases, "/dial.db", epoch));
    databases.dispose();
  });
}

test("append() numbers events without gaps across restarts", async (open) => {
  (await open()).append([draft("a"), draft("b")]);
  const again = await open("another");
  again.append([draft("c")]);
  assert.equal(again.epoch(), "e1");
  assert.deepEqual(texts(again), ["1:a", "2:b", "3:c"]);
});

test("acknowledge() frees only what was acknowledged", async (open) => {
  const store = await open();
  store.append([draft("a"), draft("b"), draft("c")]);
  const all = store.waitingBytes();
  store.acknowledge(2);
  store.acknowledge(1);
  assert.ok(store.waitingBytes() > 0 && store.waitingBytes() < all);
  assert.deepEqual(texts(store), ["3:c"]);
  store.append([draft("d")]);
  const again = await open();
  assert.equal(again.dropped(), 2);
  assert.deepEqual(texts(again), ["3:c", "4:d"]);
  again.acknowledge(4);
  assert.equal(again.waitingBytes(), 0);
});

test("the last number is kept when the outbox is empty", async (open) => {
  const store = await open();
  store.append([draft("a")]);
  store.acknowledge(1);
  store.append([draft("b")]);
  store.acknowledge(2);
  const again = await open();
  assert.deepEqual([again.last(), again.dropped()], [2, 1]);
});

test("renumber() numbers the waiting events again, in a new epoch", async (open) => {
  const store = await open();
  store.append([draft("a"), draft("b"), draft("c"), draft("d")]);
  store.acknowledge(2);
  assert.ok(store.renumber("e2").ok);
  assert.deepEqual(texts(store), ["1:c", "2:d"]);
  assert.deepEqual([store.epoch(), store.last(), store.dropped()], ["e2", 2, 0]);
  store.append([draft("e")]);
  assert.deepEqual(texts(await open()), ["1:c", "2:d", "3:e"]);
});

test("accept() recognizes a repeated turn, whatever its state", async (open) => {
  const store = await open();
  const turn = { turnId: "t1", text: "hi", origin: "owner:a" };
  assert.deepEqual(store.accept(turn), { ok: true, value: "new" });
  assert.deepEqual(store.accept(turn), { ok: true, value: "known" });
  store.append([draft("s", "t1")], { turnId: "t1", to: "running" });
  assert.deepEqual(store.runningTurns(), ["t1"]);
  assert.equal(store.nextTurn(), undefined);
  store.append([draft("e", "t1")], { turnId: "t1", to: "ended" });
  assert.deepEqual(store.accept(turn), { ok: true, value: "known" });
  assert.equal(store.nextTurn(), undefined);
  assert.equal((await open()).stateOf("t1"), "ended");
});

test("openTurns() names a turn until its end is acknowledged", async (open) => {
  const store = await open();
  store.accept({ turnId: "t1", text: "hi", origin: "o" });
  assert.deepEqual(store.openTurns(), ["t1"]);
  store.append([draft("e")], { turnId: "t1", to: "ended" });
  assert.deepEqual(store.openTurns(), ["t1"]);
  store.acknowledge(1);
  assert.deepEqual(store.openTurns(), []);
});

test("nextTurn() keeps the order of acceptance", async (open) => {
  const store = await open();
  for (const turnId of ["b", "a", "c"]) store.accept({ turnId, text: turnId, origin: "o" });
  store.append([draft("x")], { turnId: "b", to: "running" });
  assert.equal(store.nextTurn()?.turnId, "a");
});

test("a bounded number of ended turns is remembered, and every open one", async (open) => {
  const store = await open();
  store.accept({ turnId: "first", text: "", origin: "o" });
  const count = TURN_LIMITS.endedTurnsKept + 5;
  for (let n = 0; n < count; n++) {
    store.accept({ turnId: `t${n}`, text: "", origin: "o" });
    store.append([draft("e")], { turnId: `t${n}`, to: "ended" });
    store.acknowledge(store.last());
  }
  assert.equal(store.stateOf("t0"), undefined);
  assert.equal(store.stateOf(`t${count - 1}`), "ended");
  assert.equal(store.stateOf("first"), "accepted");
});

Deno.test("append(), acknowledge() and restarts keep waiting events in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(
        fc.record({ kind: fc.constant("append" as const), n: fc.integer({ min: 1, max: 4 }) }),
        fc.record({ kind: fc.constant("ack" as const), n: fc.nat(30) }),
        fc.record({ kind: fc.constant("restart" as const), n: fc.constant(0) }),
        fc.record({ kind: fc.constant("renumber" as const), n: fc.constant(0) }),
      )),
      async (steps) => {
        const databases = memoryDatabases();
        const open = () => openDialStore(databases, "/dial.db", "e");
        let store = await open();
        /** Texts that wait, according to the model. */
        let waiting: string[] = [];
        let made = 0;
        for (const { kind, n } of steps) {
          if (kind === "append") {
            const added = Array.from({ length: n }, () => `n${made++}`);
            store.append(added.map((text) => draft(text)));
            waiting.push(...added);
          }
          if (kind === "ack") {
            const before = store.dropped();
            store.acknowledge(n);
            waiting = waiting.slice(Math.max(0, store.dropped() - before));
          }
          if (kind === "restart") {
            // Items acknowledged but not yet deleted wait again; the gateway drops these
            // duplicates.
            store.append([draft("x")]);
            waiting.push("x");
            store = await open();
          }
          if (kind === "renumber") store.renumber(`e${made}`);
          const found = store.read(1, 1e9).map((event) => String(event.payload.text));
          assert.deepEqual(found, waiting);
          assert.equal(store.last() - store.dropped(), waiting.length);
        }
        databases.dispose();
      },
    ),
    { numRuns: 60 },
  );
});
