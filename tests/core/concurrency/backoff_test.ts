/** Tests of growing waits between retries. @module */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type Backoff, backoffMs } from "core/concurrency/backoff.ts";

/** Returns the waits of several steps, starting at -1. */
function waits(backoff: Backoff, fraction?: number): readonly number[] {
  return [-1, 0, 1, 2, 3, 60, 10_000].map((step) => backoffMs(backoff, step, fraction));
}

Deno.test("backoffMs() doubles up to its bound", () => {
  const found = waits({ firstMs: 500, maxMs: 3_000 });
  assert.deepEqual(found, [500, 500, 1_000, 2_000, 3_000, 3_000, 3_000]);
});

Deno.test("backoffMs() grows by the factor", () => {
  const found = waits({ firstMs: 1, maxMs: 20, factor: 3 });
  assert.deepEqual(found, [1, 1, 3, 9, 20, 20, 20]);
});

Deno.test("backoffMs() varies by at most the jitter's share", () => {
  const half = { firstMs: 8, maxMs: 64, jitter: 0.5 };
  assert.deepEqual(waits(half, 0), [4, 4, 8, 16, 32, 32, 32]);
  assert.deepEqual(waits(half, 0.5), [6, 6, 12, 24, 48, 48, 48]);
  assert.deepEqual(waits({ ...half, jitter: 1 }, 0), [0, 0, 0, 0, 0, 0, 0]);
});

Deno.test("backoffMs() stays within its bounds at any step and chance", () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(fc.property(fc.nat(), share, share, (step, jitter, fraction) => {
    const wait = backoffMs({ firstMs: 500, maxMs: 15_000, jitter }, step, fraction);
    assert.ok(wait >= 0 && wait <= 15_000 && Number.isInteger(wait));
    assert.ok(wait >= Math.floor(500 * (1 - jitter)));
  }));
});
