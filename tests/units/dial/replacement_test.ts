/**
 * How a dial unit prepares for its replacement: it starts no further turn, tells the owner of a
 * running one, and lets turns start again if root does not return.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createKeyedQueue } from "core/concurrency/keyed_queue.ts";
import { createReplacement } from "units/dial/replacement.ts";
import type { EventDraft } from "units/dial/store.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { overSocket } from "tests/units/dial/over_socket.ts";

const IDLE = { isBusy: false };
const BUSY = { isBusy: true };
const ASK = { isDue: false, isBrief: false };

/** A unit with a queue of turns. */
function scene({ goesOn = true } = {}) {
  const clock = fakeClock();
  const runOne = createKeyedQueue((_name, thrown) => assert.fail(String(thrown)));
  const exclusive = (job: () => Promise<void>) => runOne("runtime", job);
  const running: string[] = [];
  const started: string[] = [];
  const notices: EventDraft[] = [];
  const waits = { isWaiting: false };
  const replacement = createReplacement({
    clock,
    log: recordingLog(),
    exclusive,
    isWaiting: () => waits.isWaiting,
    connections: [{
      store: { runningTurns: () => running, progress: { of: () => ({ goesOn }) } } as never,
      recorder: { record: async (drafts) => void notices.push(...drafts) },
    }],
  });
  /** Starts a turn; returns how to end it. */
  const turn = (id: string) => {
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const done = exclusive(async () => {
      started.push(id);
      running.push(id);
      await promise;
      running.splice(running.indexOf(id), 1);
    });
    return async () => {
      end();
      await done;
    };
  };
  return { clock, replacement, turn, started, notices, waits };
}

const settle = async () => {
  for (let turns = 0; turns < 10; turns++) await Promise.resolve();
};

Deno.test("prepare() holds back turns of an idle agent until root returns no more", async () => {
  const { clock, replacement, turn, started } = scene();
  assert.deepEqual(await replacement.prepare(ASK), IDLE);
  const end = turn("t1");
  await settle();
  await clock.advance(59_999);
  assert.deepEqual(await replacement.prepare(ASK), IDLE, "renewed");
  await clock.advance(59_999);
  assert.deepEqual(started, []);
  await clock.advance(1);
  assert.deepEqual(started, ["t1"]);
  await end();
  assert.equal(clock.pending(), 0);
});

Deno.test("prepare() holds turns back for seconds while a socket is replaced", async () => {
  const { clock, replacement, turn, started } = scene();
  assert.deepEqual(await replacement.prepare({ ...ASK, isBrief: true }), IDLE);
  const end = turn("t1");
  await clock.advance(14_999);
  assert.deepEqual(started, []);
  await clock.advance(1);
  assert.deepEqual(started, ["t1"]);
  await end();
});

Deno.test("prepare() waits for the running turn and comes before the next one", async () => {
  const { replacement, turn, started } = scene();
  const endFirst = turn("t1");
  await settle();
  assert.deepEqual(await replacement.prepare(ASK), BUSY);
  const endSecond = turn("t2");
  await endFirst();
  await settle();
  assert.deepEqual(await replacement.prepare(ASK), IDLE);
  assert.deepEqual(started, ["t1"]);
  replacement.release();
  await settle();
  assert.deepEqual(started, ["t1", "t2"]);
  await endSecond();
});

Deno.test("prepare() is busy while a program waits for a person", async () => {
  const { replacement, waits } = scene();
  waits.isWaiting = true;
  assert.deepEqual(await replacement.prepare(ASK), BUSY);
  waits.isWaiting = false;
  assert.deepEqual(await replacement.prepare(ASK), IDLE);
  replacement.release();
});

for (
  const [goesOn, end] of [
    [true, "The turn continues."],
    [false, "This runtime cannot continue the turn."],
  ] as const
) {
  Deno.test(`prepare() tells the owner of a turn that is overdue: ${end}`, async () => {
    const { clock, replacement, turn, notices } = scene({ goesOn });
    const over = turn("t1");
    await settle();
    await replacement.prepare(ASK);
    assert.deepEqual(notices, []);
    assert.deepEqual(await replacement.prepare({ ...ASK, isDue: true }), BUSY);
    const text = `The agent is replaced by its new version during this turn. ${end}`;
    assert.deepEqual(notices, [
      { at: clock.now(), turnId: "t1", kind: "notice", payload: { text } },
    ]);
    await over();
    await replacement.prepare({ ...ASK, isDue: true });
    assert.equal(notices.length, 1, "without a turn there is no one to tell");
    replacement.release();
  });
}

const REQUEST = { type: "replace", agent: "mia", is_due: false, is_brief: false };

for (
  const [name, of, request, answer] of [
    ["serves root", { uid: 0 }, REQUEST, /^\{"type":"replace_result","is_busy":false\}$/],
    ["refuses the agent itself", { uid: 1000 }, REQUEST, /"code":"replace-not-yours"/],
    [
      "serves the owner of another root",
      { uid: 1000, isRootless: true },
      REQUEST,
      /"is_busy":false/,
    ],
    ["refuses another agent's name", { uid: 0 }, { ...REQUEST, agent: "bob" }, /"agent-mismatch"/],
    ["refuses a request without its field", { uid: 0 }, { type: "replace" }, /"request-invalid"/],
  ] as const
) {
  Deno.test(`the local socket ${name} (replace)`, async () => {
    const replacement = { prepare: async () => ({ isBusy: false }) };
    assert.match((await overSocket({ replacement, ...of }, request)).trim(), answer);
  });
}
