/**
 * Ids that sort by time.
 *
 * @module
 */

import assert from "node:assert/strict";
import { timeUuid } from "teamchat/time_uuid.ts";

const RANDOM = "0b0b0b0b-1c1c-4d1d-8e1e-0f0f0f0f0f0f";

Deno.test("timeUuid() begins with the time, and the rest is random", () => {
  assert.equal(timeUuid(RANDOM, 1_700_000_000_000), "018bcfe5-6800-7d1d-8e1e-0f0f0f0f0f0f");
  assert.equal(timeUuid(RANDOM, 0), "00000000-0000-7d1d-8e1e-0f0f0f0f0f0f");
  assert.match(timeUuid(RANDOM, Number.MAX_SAFE_INTEGER), /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.equal(timeUuid(RANDOM, -1), timeUuid(RANDOM, 0));
});

Deno.test("timeUuid() values sort by their time", () => {
  const times = [0, 1, 255, 256, 65_536, 1_700_000_000_000, 1_700_000_000_001];
  const ids = times.map((time) => timeUuid(crypto.randomUUID(), time));
  assert.deepEqual(ids, ids.toSorted());
});
