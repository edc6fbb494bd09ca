/**
 * The daemon's connection limits for one uid, which do not affect other uids.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import { type Caps, connectionsMaxOf, createCaps } from "units/daemon/caps.ts";

const ADA = 1_002;
const BOB = 1_003;

function openMany(caps: Caps, uid: number, count: number, now = 0): readonly string[] {
  return Array.from({ length: count }, () => {
    const answer = caps.open(uid, now);
    return answer.admitted ? "admitted" : answer.why;
  });
}

Deno.test("createCaps() bounds the connections of one uid, and of no other", () => {
  const caps = createCaps();
  const answers = openMany(caps, BOB, 1_000);
  assert.equal(
    answers.filter((one) => one === "admitted").length,
    DAEMON_LIMITS.connectionsPerUidMax,
  );
  assert.equal(answers.at(-1), "connections");
  assert.deepEqual(openMany(caps, ADA, 1), ["admitted"]);
  caps.close(BOB);
  assert.deepEqual(openMany(caps, BOB, 2), ["admitted", "connections"]);
});

Deno.test("createCaps() bounds the pace of one uid, and fills it again with time", () => {
  const caps = createCaps();
  for (let at = 0; at < DAEMON_LIMITS.requestsBurst; at++) {
    assert.deepEqual(openMany(caps, BOB, 1), ["admitted"]);
    caps.close(BOB);
  }
  assert.deepEqual(openMany(caps, BOB, 1), ["rate"]);
  assert.deepEqual(openMany(caps, ADA, 1), ["admitted"]);
  assert.deepEqual(openMany(caps, BOB, 1, 1_000), ["admitted"]);
  // A clock that goes backwards neither grants nor removes allowance.
  assert.deepEqual(openMany(caps, BOB, 1, -1_000_000), ["admitted"]);
});

Deno.test("createCaps() lets root in when all others together have taken everything", () => {
  const caps = createCaps();
  const uids = Math.ceil(DAEMON_LIMITS.connectionsMax / DAEMON_LIMITS.connectionsPerUidMax);
  for (let uid = 2_000; uid < 2_000 + uids; uid++) {
    openMany(caps, uid, DAEMON_LIMITS.connectionsPerUidMax);
  }
  assert.deepEqual(openMany(caps, ADA, 1), ["full"]);
  assert.deepEqual(openMany(caps, 0, 1), ["admitted"]);
  caps.close(2_000);
  // Root's connection counts only for root.
  caps.close(2_000);
  assert.deepEqual(openMany(caps, ADA, 1), ["admitted"]);
});

Deno.test("createCaps() gives all uids of sub-uid ranges one place together", () => {
  const caps = createCaps();
  const answers = Array.from(
    { length: 100 },
    (_, at) => caps.open(100_000 + at, 0).admitted,
  );
  assert.equal(answers.filter(Boolean).length, DAEMON_LIMITS.connectionsPerUidMax);
  caps.close(165_535);
  assert.ok(caps.open(4_294_967_294, 0).admitted);
});

Deno.test("createCaps() bounds the connections of root, far above those of others", () => {
  const caps = createCaps();
  const answers = openMany(caps, 0, connectionsMaxOf(0) + 1);
  assert.equal(answers.at(-2), "admitted");
  assert.equal(answers.at(-1), "connections");
});

Deno.test("createCaps() tells of a flood once in a while", () => {
  const caps = createCaps();
  openMany(caps, BOB, DAEMON_LIMITS.connectionsPerUidMax);
  const news = (now: number) => {
    const answer = caps.open(BOB, now);
    return !answer.admitted && answer.isNews;
  };
  assert.deepEqual([news(0), news(1), news(59_999), news(60_000), news(60_001)], [
    true,
    false,
    false,
    true,
    false,
  ]);
});

Deno.test("createCaps() forgets uids that have gone, never one that is there", () => {
  const caps = createCaps();
  openMany(caps, BOB, DAEMON_LIMITS.connectionsPerUidMax);
  for (let uid = 3_000; uid < 3_000 + 2 * DAEMON_LIMITS.uidsKept; uid++) {
    assert.ok(caps.open(uid, uid * 1_000).admitted);
    caps.close(uid);
  }
  assert.deepEqual(openMany(caps, BOB, 1, 9_999_999_999), ["connections"]);
});
