/**
 * The time limit of an action.
 *
 * @module
 */

import assert from "node:assert/strict";
import { withinTime } from "core/concurrency/time_limit.ts";
import { fakeClock } from "tests/fakes/clock.ts";

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

Deno.test("withinTime() aborts the signal of an action that runs longer", async () => {
  const clock = fakeClock();
  const late = assert.rejects(withinTime(clock, 5_000, aborted), {
    name: "TimeoutError",
    message: "no answer within 5 s",
  });
  await clock.advance(4_999);
  assert.equal(clock.pending(), 1);
  await clock.advance(1);
  await late;
});

Deno.test("withinTime() passes on how an action ends, and leaves no timer", async () => {
  const clock = fakeClock();
  assert.equal(await withinTime(clock, 5_000, () => Promise.resolve(7)), 7);
  const broken = withinTime(clock, 5_000, () => Promise.reject(new RangeError("broken")));
  await assert.rejects(broken, { message: "broken" });
  assert.equal(clock.pending(), 0);
});
