/**
 * Many deadlines on one timer: each runs at its time, and a cancelled one leaves no timer behind.
 *
 * @module
 */

import assert from "node:assert/strict";
import { AbortHandle } from "login/abort_handle.ts";
import { createDeadlines } from "login/deadlines.ts";
import { HeaderList } from "core/http1/header_list.ts";
import { fakeClock } from "tests/fakes/clock.ts";

Deno.test("add() runs each deadline at its time, on one timer", async () => {
  const clock = fakeClock();
  const deadlines = createDeadlines(clock.monotonic, clock.after);
  const ran: string[] = [];
  deadlines.add(90_000, () => ran.push("late"));
  deadlines.add(1_000, () => ran.push("soon"));
  const taken = deadlines.add(2_000, () => ran.push("taken back"));
  taken();
  assert.equal(clock.pending(), 1);
  await clock.advance(999);
  assert.deepEqual(ran, []);
  await clock.advance(1);
  assert.deepEqual(ran, ["soon"]);
  await clock.advance(100_000);
  assert.deepEqual(ran, ["soon", "late"]);
  assert.equal(clock.pending(), 0, "nothing waits for nothing");
});

Deno.test("add() works inside a deadline, and close() cancels all", async () => {
  const clock = fakeClock();
  const deadlines = createDeadlines(clock.monotonic, clock.after);
  const ran: number[] = [];
  deadlines.add(10, () => {
    ran.push(1);
    deadlines.add(20, () => ran.push(2));
  });
  await clock.advance(30);
  assert.deepEqual(ran, [1, 2]);
  deadlines.add(40, () => ran.push(3));
  deadlines.close();
  await clock.advance(100);
  assert.deepEqual([ran, clock.pending()], [[1, 2], 0]);
});

Deno.test("an abort notifies each listener once, and keeps its first reason", () => {
  const handle = new AbortHandle();
  const logged: string[] = [];
  handle.onAbort(() => logged.push("a"));
  const ignore = handle.onAbort(() => logged.push("b"));
  ignore();
  handle.abort("first");
  handle.abort("second");
  handle.onAbort(() => logged.push("late"));
  assert.deepEqual([logged, handle.reason], [["a", "late"], "first"]);
});

Deno.test("HeaderList answers as Headers does", () => {
  const pairs: [string, string][] = [["Accept", "a"], ["accept", "b"], ["X-Y", "1"], [
    "Cookie",
    "c=1",
  ]];
  const list = new HeaderList(pairs);
  const headers = new Headers(pairs);
  for (const name of ["accept", "ACCEPT", "x-y", "none"]) {
    assert.deepEqual([list.get(name), list.has(name)], [headers.get(name), headers.has(name)]);
  }
  list.append("COOKIE", "d=2");
  assert.equal(list.get("cookie"), "c=1; d=2");
  list.set("Accept", "z");
  list.delete("x-y");
  assert.deepEqual([...list], [["cookie", "c=1"], ["cookie", "d=2"], ["accept", "z"]]);
});
