/**
 * The counter of failed attempts: its window, its bound, and parallel attempts.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { LOGIN_LIMITS } from "core/limits.ts";
import { createAttempts } from "login/basic/attempts.ts";
import { fakeClock } from "tests/fakes/clock.ts";

Deno.test("begin() lets no more than eight failures pass in any minute", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ wait: fc.integer({ min: 0, max: 20_000 }), isRight: fc.boolean() }), {
        maxLength: 80,
      }),
      async (tries) => {
        const clock = fakeClock();
        const attempts = createAttempts(clock);
        const failed: number[] = [];
        for (const { wait, isRight } of tries) {
          await clock.advance(wait);
          const now = clock.monotonic();
          const recent = failed.filter((at) => now - at < 60_000).length;
          const attempt = attempts.begin("a");
          assert.equal("retryAfterSeconds" in attempt, recent >= 8);
          if ("retryAfterSeconds" in attempt) {
            assert.ok(attempt.retryAfterSeconds >= 1 && attempt.retryAfterSeconds <= 60);
          } else if (isRight) attempt.forgive();
          else failed.push(now);
        }
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("begin() remembers a bounded number of clients, those seen last", async () => {
  const clock = fakeClock();
  const attempts = createAttempts(clock);
  for (let count = 0; count < 8; count++) attempts.begin("busy");
  for (let client = 0; client < LOGIN_LIMITS.clientsKept * 2; client++) {
    attempts.begin(`client ${client}`);
    if (client % 1_000 === 0) attempts.begin("busy");
  }
  assert.equal(attempts.size(), LOGIN_LIMITS.clientsKept);
  assert.ok("retryAfterSeconds" in attempts.begin("busy"), "who goes on is not forgotten");
  await clock.advance(60_000);
  attempts.begin("next");
  assert.ok(attempts.size() < 10, "what has passed makes room at once");
});

Deno.test("forgive() takes one attempt back, however often it is called", () => {
  const attempts = createAttempts(fakeClock());
  const first = attempts.begin("a");
  assert.ok("forgive" in first);
  for (let count = 0; count < 7; count++) attempts.begin("a");
  first.forgive();
  first.forgive();
  assert.ok("forgive" in attempts.begin("a"));
  assert.ok("retryAfterSeconds" in attempts.begin("a"));
});
