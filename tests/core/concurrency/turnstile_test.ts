/**
 * The fair semaphore: clients take turns, limits and pace are kept, and no client starves.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createPace } from "teamchat/reply/pace.ts";
import { createTurnstile, type TurnstileParts } from "core/concurrency/turnstile.ts";
import { fakeClock, settle } from "tests/fakes/clock.ts";

function turnstile(parts: Partial<TurnstileParts> = {}) {
  const clock = fakeClock();
  const gate = createTurnstile({ max: 2, maxOfOne: 2, clock, ...parts });
  const passed: string[] = [];
  const leaves: (() => void)[] = [];
  const enter = (who: string, signal?: AbortSignal) => {
    void gate.enter(who, signal).then((leave) => {
      passed.push(leave === undefined ? `${who} gave up` : who);
      if (leave !== undefined) leaves.push(leave);
    });
  };
  const leaveOne = async () => {
    leaves.shift()?.();
    await settle();
  };
  return { clock, gate, passed, enter, leaveOne };
}

Deno.test("enter() takes turns between those who wait, whoever came first with many", async () => {
  const at = turnstile({ max: 1, maxOfOne: 1 });
  for (let n = 0; n < 1_000; n++) at.enter("a");
  await settle();
  at.enter("b");
  at.enter("c");
  for (let n = 0; n < 5; n++) await at.leaveOne();
  assert.deepEqual(at.passed, ["a", "a", "b", "c", "a", "a"]);
  assert.equal(at.gate.waiting("a"), 996);
});

Deno.test("enter() keeps one from holding every place", async () => {
  const at = turnstile({ max: 4, maxOfOne: 3 });
  for (let n = 0; n < 9; n++) at.enter("a");
  await settle();
  assert.deepEqual(at.passed, ["a", "a", "a"]);
  at.enter("b");
  await settle();
  assert.deepEqual(at.passed, ["a", "a", "a", "b"]);
  await at.leaveOne();
  assert.equal(at.passed.length, 5);
});

Deno.test("enter() waits for the pace, and takes turns in it", async () => {
  const at = turnstile({ max: 9, maxOfOne: 9, pace: createPace([{ count: 2, ms: 1_000 }]) });
  for (let n = 0; n < 6; n++) at.enter("a");
  at.enter("b");
  await settle();
  assert.deepEqual(at.passed, ["a", "a"]);
  await at.clock.advance(1_000);
  assert.deepEqual(at.passed, ["a", "a", "a", "b"]);
  await at.clock.advance(2_000);
  assert.deepEqual(at.passed, ["a", "a", "a", "b", "a", "a", "a"]);
});

Deno.test("enter() ends a wait with its signal, and the others go on", async () => {
  const at = turnstile({ max: 1 });
  const stop = new AbortController();
  at.enter("a");
  at.enter("b", stop.signal);
  at.enter("c");
  await settle();
  stop.abort();
  await settle();
  await at.leaveOne();
  assert.deepEqual(at.passed, ["a", "b gave up", "c"]);
  at.enter("d", stop.signal);
  await settle();
  assert.deepEqual(at.passed.at(-1), "d gave up");
  assert.equal(at.gate.waiting(), 0);
});

Deno.test("leaving twice frees one place", async () => {
  const clock = fakeClock();
  const gate = createTurnstile({ max: 1, maxOfOne: 1, clock });
  const leave = await gate.enter("a");
  leave?.();
  leave?.();
  assert.ok(await gate.enter("a"));
  let isIn = false;
  void gate.enter("b").then(() => isIn = true);
  await settle();
  assert.equal(isIn, false);
});
