/**
 * Which verb runs next: limits for each uid, turns among uids, and a separate queue for root.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import {
  createVerbQueue,
  type QueuedVerb,
  type VerbQueue,
  VERBS_MAX,
} from "units/daemon/verb_queue.ts";

const ADA = 1_002;
const BOB = 1_003;
const MAX = DAEMON_LIMITS.verbsPerUidMax;

interface Entered {
  readonly uid: number;
  readonly leave: () => void;
}

/** A queue, and the running verbs, oldest first. */
function watch() {
  const queue: VerbQueue = createVerbQueue(fakeClock());
  const running: Entered[] = [];
  const waited: number[] = [];
  const ask = (verb: QueuedVerb) =>
    queue.enter(verb, () => waited.push(verb.uid)).then((leave) => {
      if (leave !== undefined) running.push({ uid: verb.uid, leave });
      return leave !== undefined;
    });
  const settle = () => new Promise((resolve) => setTimeout(resolve));
  return { queue, running, waited, ask, settle };
}

function change(uid: number): QueuedVerb {
  return { uid, mutates: true };
}

Deno.test("createVerbQueue() lets the fifth verb of root wait for the first to end", async () => {
  const { running, waited, ask, settle } = watch();
  const asked = Array.from({ length: MAX + 1 }, () => ask(change(0)));
  await settle();
  assert.equal(running.length, MAX);
  assert.deepEqual(waited, [0]);
  running[0]?.leave();
  assert.deepEqual(await Promise.all(asked), Array(MAX + 1).fill(true));
});

Deno.test("createVerbQueue() lets reading and changing verbs overtake each other", async () => {
  const { running, ask, settle } = watch();
  for (let at = 0; at < 2 * MAX; at++) {
    void ask({ uid: BOB, mutates: false });
    void ask(change(BOB));
  }
  await settle();
  assert.equal(running.length, 2 * MAX);
});

Deno.test("createVerbQueue() serves uids in turn, and never lets root wait for them", async () => {
  const { running, waited, ask, settle } = watch();
  const uids = VERBS_MAX / MAX;
  for (let uid = 2_000; uid < 2_000 + uids; uid++) {
    for (let at = 0; at < 2 * MAX; at++) void ask(change(uid));
  }
  void ask(change(ADA));
  await settle();
  assert.equal(running.length, VERBS_MAX);
  assert.ok(waited.includes(ADA));
  void ask(change(0));
  await settle();
  assert.equal(running.at(-1)?.uid, 0, "root waits for no other");
  // Each of the others gets exactly one turn before the newcomer.
  for (let at = 0; at < uids; at++) running[at * MAX]?.leave();
  running[1]?.leave();
  await settle();
  assert.equal(running.at(-1)?.uid, ADA, "after one turn of each");
  const others = running.slice(-uids - 1, -1).map(({ uid }) => uid);
  assert.deepEqual(others, Array.from({ length: uids }, (_, at) => 2_000 + at));
});

Deno.test("createVerbQueue() refuses waiting verbs when the daemon ends", async () => {
  const { queue, ask, settle } = watch();
  const asked = Array.from({ length: MAX + 1 }, () => ask(change(BOB)));
  await settle();
  queue.close();
  assert.equal(await asked[MAX], false);
});
