/**
 * The pace of one agent's stored events: an honest agent is never slowed down, a flood is.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createDialPace } from "core/dial/pace.ts";
import { EVENT_LIMITS } from "core/limits/event.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";

const { burst, perSecond, bytesBurst, bytesPerSecond } = EVENT_LIMITS;

Deno.test("createDialPace() accepts a full outbox at once, and a fast agent indefinitely", () => {
  const outbox = createDialPace();
  const size = 1024;
  for (let sent = 0; sent < DIAL_LIMITS.outboxBytesMax; sent += size) {
    assert.equal(outbox("mia", size, 0), 0);
  }
  const fast = createDialPace();
  // Four times the burst, at the refill rate of the bucket.
  for (let index = 0; index < 4 * burst; index++) {
    assert.equal(fast("mia", 2_000, index * 1_000 / perSecond), 0);
  }
});

Deno.test("createDialPace() delays events beyond the burst until the debt is paid", () => {
  const note = createDialPace();
  for (let index = 0; index < burst; index++) assert.equal(note("mia", 10, 0), 0);
  assert.equal(note("mia", 10, 0), 1_000 / perSecond);
  assert.equal(note("mia", 10, 0), 2_000 / perSecond);
  // Each agent has its own bucket.
  assert.equal(note("bob", 10, 0), 0);
  assert.equal(note("mia", 10, 10_000), 0);
});

Deno.test("createDialPace() counts bytes, and refills no further than the burst", () => {
  const note = createDialPace();
  assert.equal(note("mia", bytesBurst, 0), 0);
  assert.equal(note("mia", bytesPerSecond, 0), 1_000);
  const much = 24 * 3_600_000;
  assert.equal(note("mia", bytesBurst, much), 0);
  assert.equal(note("mia", bytesPerSecond / 2, much), 500);
});

Deno.test("createDialPace() treats a clock that is set back as one that does not advance", () => {
  const note = createDialPace();
  assert.equal(note("mia", bytesBurst, 5_000), 0);
  assert.equal(note("mia", bytesPerSecond, 1_000), 1_000);
});
