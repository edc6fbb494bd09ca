/**
 * What retention removes from a gateway's store and what it always keeps: open turns, keys of turns
 * that may be sent again, and the numbers that identify an agent's repeated events.
 *
 * @module
 */

import assert from "node:assert/strict";
import { expireEvents } from "cli/gc/events.ts";
import type { DurableEvent } from "core/dial/event.ts";
import { openGatewayStore } from "gateway/transcript/store.ts";
import { startSweep } from "gateway/transcript/sweep.ts";
import { memoryHost } from "tests/fakes/host.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);
const files = { stat: () => Promise.resolve({} as never) };
const AGO = (days: number) => NOW - days * DAY;

type Host = ReturnType<typeof memoryHost>;
const openStore = (host: Host) => openGatewayStore(host.databases, "/g.db", "log1", 1e9);
type Store = Awaited<ReturnType<typeof openStore>>;

async function gc(host: Host, days: number, isDryRun = false) {
  const options = { beforeMs: AGO(days), nowMs: NOW, isDryRun };
  return await expireEvents({ files, databases: host.databases }, "/g.db", options);
}

async function queue({ turns }: Store, name: string, at: number): Promise<boolean> {
  const queued = await turns.queue({
    turnId: name,
    agent: "mia",
    text: "go",
    origin: "owner:m@example.org",
    hops: 0,
    at,
    asker: "owner:m@example.org",
    idempotencyKey: name,
  });
  assert.ok(queued.ok);
  return queued.value.isNew;
}

/** Sends events of the agent; the number counts on. */
function speaker({ events }: Store) {
  let seq = 0;
  return async (kind: string, at: number, turn?: string) => {
    const payload = kind === "turn_ended" ? { outcome: "completed" } : { text: "words" };
    const given = kind === "turn_started" ? {} : payload;
    const tie = turn === undefined ? {} : { turn_id: turn };
    const event = { seq: ++seq, at, kind, payload: given, ...tie } as DurableEvent;
    assert.ok((await events.appendFromAgent("mia", "e", [event])).ok);
    return event;
  };
}

async function turnsOf(host: Host): Promise<readonly string[]> {
  const db = await host.databases.open("/g.db");
  return db.prepare("select turn_id from turns order by seq").all().map((row) =>
    String(row.turn_id)
  );
}

Deno.test("gc deletes a turn with its last event, and keeps what is still needed", async () => {
  const host = memoryHost({ now: NOW });
  const store = await openStore(host);
  const say = speaker(store);
  await queue(store, "over", AGO(90));
  await queue(store, "waits", AGO(80));
  await queue(store, "works", AGO(80));
  await queue(store, "ended-late", AGO(80));
  for (const turn of ["over", "works", "ended-late"]) await say("turn_started", AGO(79), turn);
  await say("turn_ended", AGO(78), "over");
  await say("notice", AGO(20));
  await say("turn_ended", AGO(10), "ended-late");

  const dry = await gc(host, 30, true);
  assert.deepEqual([dry.turns, (await turnsOf(host)).length], [1, 4]);
  assert.equal((await gc(host, 30)).turns, 1);
  assert.deepEqual(await turnsOf(host), ["waits", "works", "ended-late"]);
  // Its key counts as new again; the other keys still find their existing turns.
  assert.equal(await queue(store, "over", NOW), true);
  for (const turn of ["waits", "works", "ended-late"]) {
    assert.equal(await queue(store, turn, NOW), false, turn);
  }
  assert.equal((await store.turns.nextFor("mia"))?.turnId, "waits");
  assert.equal((await store.turns.runningOf("mia"))?.turnId, "works");
});

Deno.test("gc keeps the key of a turn for a week, whatever the retention time", async () => {
  const host = memoryHost({ now: NOW });
  const store = await openStore(host);
  const say = speaker(store);
  for (const [turn, days] of [["old", 8], ["young", 6]] as const) {
    await queue(store, turn, AGO(days));
    await say("turn_started", AGO(days), turn);
    await say("turn_ended", AGO(days), turn);
  }
  await say("notice", NOW);
  const gone = await gc(host, 1);
  assert.equal(gone.turns, 1);
  assert.deepEqual(await turnsOf(host), ["young"]);
  assert.equal(await queue(store, "young", NOW), false);
});

Deno.test("an event that an agent resends after gc is acknowledged but not stored", async () => {
  const host = memoryHost({ now: NOW });
  const store = await openStore(host);
  const say = speaker(store);
  await queue(store, "over", AGO(90));
  const again = [
    await say("turn_started", AGO(90), "over"),
    await say("turn_ended", AGO(90), "over"),
  ];
  await say("notice", NOW);
  const { count } = await gc(host, 30);
  assert.ok(count >= 3, String(count));
  const taken = await store.events.appendFromAgent("mia", "e", again);
  assert.ok(taken.ok);
  assert.deepEqual([taken.value.ackedSeq, taken.value.repeated, taken.value.stored], [3, 2, []]);
  assert.equal(await store.events.ackedSeq("mia", "e"), 3);
});

Deno.test("gc deletes turns of an older store, which has no ends of turns", async () => {
  const host = memoryHost({ now: NOW });
  const store = await openStore(host);
  const say = speaker(store);
  await queue(store, "over", AGO(90));
  await say("turn_ended", AGO(89), "over");
  await queue(store, "waits", AGO(88));
  await say("notice", NOW);
  const db = await host.databases.open("/g.db");
  db.exec("drop trigger turn_over; drop index turns_over; alter table turns drop column end_seq;");
  assert.equal((await gc(host, 30, true)).turns, 1);
  const again = await openStore(host);
  assert.equal((await gc(host, 30)).turns, 1);
  assert.deepEqual(await turnsOf(host), ["waits"]);
  await queue(again, "next", NOW);
  assert.ok((await again.turns.cancel("next", NOW)).ok);
  const end = db.prepare("select end_seq, seq from turns where turn_id = 'next'").get();
  assert.ok(Number(end?.end_seq) > Number(end?.seq));
});

Deno.test("the gateway deletes old rows every hour, in batches", async () => {
  const host = memoryHost({ now: NOW });
  const store = await openStore(host);
  const db = await host.databases.open("/g.db");
  const add = db.prepare(
    "insert into events (agent, at, kind, payload) values ('mia', ?, 'x', '{}')",
  );
  db.transaction(() => {
    for (let n = 0; n < 4_500; n++) add.run(AGO(40));
    add.run(AGO(29.99));
    add.run(NOW);
  });
  const left = () => Number(db.prepare("select count(*) as n from events").get()?.n);
  const { clock, log } = host;
  const stop = startSweep({ retention: store.retention, days: 30, clock, log });
  const seen = [left()];
  for (let pause = 0; pause < 3; pause++) {
    await clock.advanceToNext();
    seen.push(left());
  }
  assert.deepEqual(seen, [2_502, 502, 2, 2]);
  const { fields } = await log.next("old events deleted");
  assert.deepEqual(fields, { events: 4_500, turns: 0, days: 30 });
  await clock.advance(3_600_000);
  assert.equal(left(), 1);
  // Every event is old now, so the clock itself is doubted and nothing is removed.
  await clock.advance(31 * DAY);
  assert.equal(left(), 1);
  assert.match(
    JSON.stringify(log.of("no old events deleted")),
    /check this host.s clock/,
  );
  assert.equal(log.of("no old events deleted").length, 1);
  stop();
});

Deno.test("an event from a clock that runs ahead stays, and keeps no other row", async () => {
  const host = memoryHost({ now: NOW });
  const store = await openStore(host);
  const say = speaker(store);
  await queue(store, "over", AGO(90));
  await say("turn_started", AGO(90), "over");
  await queue(store, "ahead", AGO(89));
  // The agent's host clock is wrong, or the agent sends a wrong time.
  await say("turn_ended", NOW + 400 * DAY, "ahead");
  await say("notice", 8.64e15);
  await say("turn_ended", AGO(88), "over");
  await say("notice", AGO(60));
  await say("notice", AGO(1));
  const dry = await gc(host, 30, true);
  const gone = await gc(host, 30);
  assert.deepEqual([gone.count, gone.turns], [dry.count, dry.turns]);
  assert.deepEqual(await turnsOf(host), ["ahead"]);
  const db = await host.databases.open("/g.db");
  const left = db.prepare("select at from events order by seq").all().map((row) => row.at);
  assert.deepEqual([...new Set(left)], [NOW + 400 * DAY, 8.64e15, AGO(1)]);
});
