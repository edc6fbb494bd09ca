/** Tests of the reconnect ladder. @module */

import assert from "node:assert/strict";
import { decideRetry } from "units/dial/backoff.ts";
import { CLOSE } from "core/dial/frames.ts";
import { BACKOFF_LIMITS } from "units/dial/limits.ts";

const rows = [
  {
    name: "climbs when the connection was never registered",
    last: { code: 1006, registeredMs: 0 },
    want: { attempt: 4, delayMs: 2000 },
  },
  {
    name: "climbs on when the connection was dropped before it was stable",
    last: { code: 1006, registeredMs: BACKOFF_LIMITS.stableMs - 1 },
    want: { attempt: 4, delayMs: 2000 },
  },
  {
    name: "starts over after a stable connection",
    last: { code: 1006, registeredMs: BACKOFF_LIMITS.stableMs },
    want: { attempt: 1, delayMs: 250 },
  },
  {
    name: "waits as long as a closing gateway requests",
    last: { code: CLOSE.goingAway, registeredMs: 10, retryAfterMs: 1234 },
    want: { attempt: 0, delayMs: 1234 },
  },
  {
    name: "bounds the requested wait",
    last: { code: CLOSE.goingAway, registeredMs: 10, retryAfterMs: 1e9 },
    want: { attempt: 0, delayMs: BACKOFF_LIMITS.maxMs },
  },
  {
    name: "waits a whole step when another connection replaced this one",
    last: { code: CLOSE.replaced, registeredMs: 60_000 },
    want: { attempt: 4, delayMs: BACKOFF_LIMITS.maxMs },
  },
];
for (const { name, last, want } of rows) {
  Deno.test(`decideRetry() ${name}`, () => {
    assert.deepEqual(decideRetry(last, 3, 0.5), want);
  });
}
