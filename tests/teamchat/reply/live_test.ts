/**
 * The cost of showing an answer depends on what is shown, not on what an agent sends. A flood of
 * small pieces is processed at intervals, a long text only up to the limit, and what arrives
 * meanwhile is not lost.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { createShownText } from "teamchat/reply/answer_text.ts";
import type { Call } from "teamchat/reply/connector.ts";
import { LiveAnswer } from "teamchat/reply/live.ts";
import type { Turn } from "teamchat/store/turn.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { cpuMs } from "tests/support/cpu_time.ts";

const { answerLengthMax, messageLengthMax, streamGapMs } = TEAMCHAT_LIMITS;

const TURN: Turn = {
  turnId: "t",
  agent: "bea",
  owner: "o",
  text: "q",
  created: 0,
  expires: 1,
  state: "running",
  context: {
    base: "https://smba.test",
    conversation: "a:1",
    type: "personal",
    bot: { id: "28:b" },
    user: { id: "29:u" },
  },
  progress: {
    stream: undefined,
    streamAt: undefined,
    partsSent: 0,
    cuts: [],
    held: undefined,
    isSending: false,
    ids: [],
  },
} as unknown as Turn;

function world() {
  const clock = fakeClock();
  const shown = createShownText("");
  const calls: Call[] = [];
  const live = new LiveAnswer({
    turn: TURN,
    isFresh: true,
    shown,
    clock,
    connector: {
      call: (call) => {
        calls.push(call);
        return Promise.resolve({ kind: "ok", id: "s1" });
      },
    },
    keep: () => Promise.resolve(),
  });
  const texts = () => calls.map(({ body }) => String(body.text));
  return { clock, shown, live, texts };
}

Deno.test("a flood of pieces after a full message is checked only at intervals", async () => {
  const { clock, shown, live, texts } = world();
  const run = live.run();
  const first = "x".repeat(messageLengthMax);
  shown.delta("m", `${first}\n`, undefined);
  live.wake();
  await clock.advance(streamGapMs * 2);
  assert.equal(texts().length, 2);
  shown.delta("m", "\n".repeat(answerLengthMax - messageLengthMax - 5_000), undefined);
  const spent = cpuMs(() => {
    for (let n = 0; n < 4_000; n++) {
      shown.delta("m", "\n", undefined);
      live.wake();
    }
  });
  assert.ok(spent < 1_000, `${spent} ms`);
  await clock.advance(streamGapMs * 2);
  assert.equal(texts().length, 2);
  live.end();
  await run;
});

Deno.test("a piece that arrives right after a check is still shown", async () => {
  const { clock, shown, live, texts } = world();
  const run = live.run();
  await clock.advance(streamGapMs * 2);
  shown.delta("m", " ", undefined);
  live.wake();
  shown.delta("m", "word", undefined);
  live.wake();
  await clock.advance(100);
  assert.equal(texts().at(-1), " word");
  live.end();
  await run;
  assert.equal(clock.pending(), 0);
});
