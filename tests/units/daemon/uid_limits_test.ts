/**
 * The daemon's connection limits for one uid, which do not affect other uids.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import { connectionsMaxOf, createUidLimits, type UidLimits } from "units/daemon/uid_limits.ts";

const ADA = 1_002;
const BOB = 1_003;

function openMany(limits: UidLimits, uid: number, count: number, now = 0): readonly string[] {
  return Array.from({ length: count }, () => {
    const answer = limits.open(uid, now);
    return answer.admitted ? "admitted" : answer.why;
  });
}

Deno.test("createCaps() bounds the connections of one uid, and of no other", () => {
  const limits = createUidLimits();
  const answers = openMany(limits, BOB, 1_000);
  assert.equal(
    answers.filter((one) => one === "admitted").length,
    DAEMON_LIMITS.connectionsPerUidMax,
  );
  assert.equal(answers.at(-1), "connections");
  assert.deepEqual(openMany(limits, ADA, 1), ["admitted"]);
  limits.close(BOB);
  assert.deepEqual(openMany(limits, BOB, 2), ["admitted", "connections"]);
});

Deno.test("createCaps() bounds the rate of one uid, and refills it over time", () => {
  const limits = createUidLimits();
  for (let at = 0; at < DAEMON_LIMITS.requestsBurst; at++) {
    assert.deepEqual(openMany(limits, BOB, 1), ["admitted"]);
    limits.close(BOB);
  }
  assert.deepEqual(openMany(limits, BOB, 1), ["rate"]);
  assert.deepEqual(openMany(limits, ADA, 1), ["admitted"]);
  assert.deepEqual(openMany(limits, BOB, 1, 1_000), ["admitted"]);
  // A clock that goes backwards neither grants nor removes allowance.
  assert.deepEqual(openMany(limits, BOB, 1, -1_000_000), ["admitted"]);
});

Deno.test("createCaps() admits root when all others together have used everything", () => {
  const limits = createUidLimits();
  const uids = Math.ceil(DAEMON_LIMITS.connectionsMax / DAEMON_LIMITS.connectionsPerUidMax);
  for (let uid = 2_000; uid < 2_000 + uids; uid++) {
    openMany(limits, uid, DAEMON_LIMITS.connectionsPerUidMax);
  }
  assert.deepEqual(openMany(limits, ADA, 1), ["full"]);
  assert.deepEqual(openMany(limits, 0, 1), ["admitted"]);
  limits.close(2_000);
  // Root's connection counts only for root.
  limits.close(2_000);
  assert.deepEqual(openMany(limits, ADA, 1), ["admitted"]);
});

Deno.test("createCaps() counts all uids of sub-uid ranges as one", () => {
  const limits = createUidLimits();
  const answers = Array.from(
    { length: 100 },
    (_, at) => limits.open(100_000 + at, 0).admitted,
  );
  assert.equal(answers.filter(Boolean).length, DAEMON_LIMITS.connectionsPerUidMax);
  limits.close(165_535);
  assert.ok(limits.open(4_294_967_294, 0).admitted);
});

Deno.test("createCaps() bounds the connections of root, far above those of others", () => {
  const limits = createUidLimits();
  const answers = openMany(limits, 0, connectionsMaxOf(0) + 1);
  assert.equal(answers.at(-2), "admitted");
  assert.equal(answers.at(-1), "connections");
});

Deno.test("createCaps() reports a flood at intervals", () => {
  const limits = createUidLimits();
  openMany(limits, BOB, DAEMON_LIMITS.connectionsPerUidMax);
  const news = (now: number) => {
    const answer = limits.open(BOB, now);
    return !answer.admitted && answer.shouldLog;
  };
  assert.deepEqual([news(0), news(1), news(59_999), news(60_000), news(60_001)], [
    true,
    false,
    false,
    true,
    false,
  ]);
});

Deno.test("createCaps() forgets disconnected uids, never a connected one", () => {
  const limits = createUidLimits();
  openMany(limits, BOB, DAEMON_LIMITS.connectionsPerUidMax);
  for (let uid = 3_000; uid < 3_000 + 2 * DAEMON_LIMITS.uidsKept; uid++) {
    assert.ok(limits.open(uid, uid * 1_000).admitted);
    limits.close(uid);
  }
  assert.deepEqual(openMany(limits, BOB, 1, 9_999_999_999), ["connections"]);
});
