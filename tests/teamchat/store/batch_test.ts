/**
 * When batches are written: deliveries at once, steps of turns only after the disk has rested, and
 * both together when they coincide.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Database } from "core/ports/databases.ts";
import { ok } from "core/result.ts";
import { openWriter } from "teamchat/store/batch.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { recordingLog } from "tests/fakes/log.ts";

/** A writer over a disk that takes `tookMs` for each batch, and the content of each batch. */
function world(tookMs: number) {
  const clock = fakeClock();
  const batches: string[][] = [];
  let spentMs = 0;
  const db = {
    transaction: <T>(work: () => T): T => {
      batches.push([]);
      spentMs += tookMs;
      return work();
    },
  } as Database;
  const writing = openWriter({
    db,
    log: recordingLog(),
    gapFactor: 8,
    clock: { after: clock.after, monotonic: () => clock.monotonic() + spentMs },
  });
  const named = (name: string) => () => {
    batches.at(-1)?.push(name);
    return ok(undefined);
  };
  return { ...writing, clock, batches, named };
}

Deno.test("a batch waits eight times as long as the batch before took", async () => {
  const { write, batches, named, clock } = world(0.5);
  void write("x", named("one"));
  await clock.advance(0);
  void write("x", named("two"));
  await clock.advance(3);
  assert.deepEqual(batches, [["one"]]);
  await clock.advance(1);
  assert.deepEqual(batches, [["one"], ["two"]]);
});

Deno.test("the wait is bounded, however slow the disk is", async () => {
  const { write, batches, named, clock } = world(5_000);
  void write("x", named("one"));
  await clock.advance(0);
  void write("x", named("two"));
  await clock.advance(8);
  assert.deepEqual(batches, [["one"], ["two"]]);
});

Deno.test("a delivery is written at once, before the writes that wait", async () => {
  const { write, writeFirst, writeLater, beforeNext, batches, named, clock } = world(1);
  void write("x", named("one"));
  await clock.advance(0);
  void write("x", named("step"));
  void writeLater("x", named("note"));
  beforeNext(() => void write("x", named("event")));
  await clock.advance(0);
  assert.equal(batches.length, 1);
  const delivered = writeFirst("x", named("delivery"));
  await clock.advance(0);
  assert.deepEqual(batches, [["one"], ["delivery", "step", "note", "event"]]);
  assert.ok((await delivered).ok);
  await clock.advance(1_000);
  assert.equal(batches.length, 2);
});

Deno.test("a write without a waiting caller is done eventually", async () => {
  const { writeLater, batches, named, clock } = world(1);
  const noted = writeLater("x", named("note"));
  await clock.advance(99);
  assert.deepEqual(batches, []);
  await clock.advance(1);
  assert.deepEqual(batches, [["note"]]);
  assert.ok((await noted).ok);
});
