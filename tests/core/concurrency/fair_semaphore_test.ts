/**
 * The fair semaphore: round-robin between keys, bounded, paced, and no waiter is lost.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createPace } from "teamchat/reply/pace.ts";
import { createFairSemaphore, type FairSemaphoreOptions } from "core/concurrency/fair_semaphore.ts";
import { fakeClock, settle } from "tests/fakes/clock.ts";

function semaphore(parts: Partial<FairSemaphoreOptions> = {}) {
  const clock = fakeClock();
  const semaphore = createFairSemaphore({ max: 2, maxPerKey: 2, clock, ...parts });
  const passed: string[] = [];
  const releases: (() => void)[] = [];
  const acquire = (who: string, signal?: AbortSignal) => {
    void semaphore.acquire(who, signal).then((release) => {
      passed.push(release === undefined ? `${who} gave up` : who);
      if (release !== undefined) releases.push(release);
    });
  };
  const releaseOne = async () => {
    releases.shift()?.();
    await settle();
  };
  return { clock, semaphore, passed, acquire, releaseOne };
}

Deno.test("acquire() serves waiting keys round-robin", async () => {
  const at = semaphore({ max: 1, maxPerKey: 1 });
  for (let n = 0; n < 1_000; n++) at.acquire("a");
  await settle();
  at.acquire("b");
  at.acquire("c");
  for (let n = 0; n < 5; n++) await at.releaseOne();
  assert.deepEqual(at.passed, ["a", "a", "b", "c", "a", "a"]);
  assert.equal(at.semaphore.waiting("a"), 996);
});

Deno.test("acquire() keeps one key from holding every permit", async () => {
  const at = semaphore({ max: 4, maxPerKey: 3 });
  for (let n = 0; n < 9; n++) at.acquire("a");
  await settle();
  assert.deepEqual(at.passed, ["a", "a", "a"]);
  at.acquire("b");
  await settle();
  assert.deepEqual(at.passed, ["a", "a", "a", "b"]);
  await at.releaseOne();
  assert.equal(at.passed.length, 5);
});

Deno.test("acquire() waits for the rate limit, also round-robin", async () => {
  const at = semaphore({ max: 9, maxPerKey: 9, pace: createPace([{ count: 2, ms: 1_000 }]) });
  for (let n = 0; n < 6; n++) at.acquire("a");
  at.acquire("b");
  await settle();
  assert.deepEqual(at.passed, ["a", "a"]);
  await at.clock.advance(1_000);
  assert.deepEqual(at.passed, ["a", "a", "a", "b"]);
  await at.clock.advance(2_000);
  assert.deepEqual(at.passed, ["a", "a", "a", "b", "a", "a", "a"]);
});

Deno.test("acquire() ends one wait with its signal, and no other", async () => {
  const at = semaphore({ max: 1 });
  const stop = new AbortController();
  at.acquire("a");
  at.acquire("b", stop.signal);
  at.acquire("c");
  await settle();
  stop.abort();
  await settle();
  await at.releaseOne();
  assert.deepEqual(at.passed, ["a", "b gave up", "c"]);
  at.acquire("d", stop.signal);
  await settle();
  assert.deepEqual(at.passed.at(-1), "d gave up");
  assert.equal(at.semaphore.waiting(), 0);
});

Deno.test("a second release has no effect", async () => {
  const clock = fakeClock();
  const semaphore = createFairSemaphore({ max: 1, maxPerKey: 1, clock });
  const release = await semaphore.acquire("a");
  release?.();
  release?.();
  assert.ok(await semaphore.acquire("a"));
  let isIn = false;
  void semaphore.acquire("b").then(() => isIn = true);
  await settle();
  assert.equal(isIn, false);
});
