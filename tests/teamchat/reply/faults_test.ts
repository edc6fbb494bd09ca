/**
 * Every scripted fault of the connector: the whole answer appears once, at the platform's pace, and
 * the agent gets the true outcome.
 *
 * @module
 */

import assert from "node:assert/strict";
import { teamchatTest as test, type TestTeamchat } from "tests/teamchat/fixture.ts";
import { error } from "tests/teamchat/connector/conversation.ts";
import { LINE } from "teamchat/reply/activities.ts";
import type { Fault, FaultEffect } from "tests/teamchat/connector/kit.ts";

const throttle = error(429, "TooManyRequests", "", { "retry-after": "2" });
const broken = error(500, "ServiceError", "");
const late = error(504, "Timeout", "");
const ended = (message: string) => error(403, "ContentStreamNotAllowed", message);
const overTime = ended("Content stream exceeded streaming time");
const notAllowed = ended("Content stream is not allowed");
const disorder = {
  status: 202,
  body: { error: { code: "ContentStreamSequenceOrderPreConditionFailed" } },
};

function fault(kind: string, effect: FaultEffect, times = 1, skip = 0): Fault {
  return { kind, effect, times, skip };
}

function endless(): Response {
  return new Response(
    new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }),
    { status: 202 },
  );
}

/** Faults while an answer of a hundred words is streamed. */
const STREAM: Readonly<Record<string, readonly Fault[]>> = {
  "no fault": [],
  "one 429 on a chunk": [fault("streaming", { answer: throttle }, 1, 1)],
  "429 on every chunk": [fault("streaming", { answer: throttle }, 99)],
  "429 on the first request": [fault("informative", { answer: throttle })],
  "429 on the final": [fault("final", { answer: throttle }, 3)],
  "exceeded time on a chunk": [fault("streaming", { answer: overTime }, 1, 1)],
  "exceeded time on the final": [fault("final", { answer: overTime })],
  "streams not allowed at the first request": [fault("informative", { answer: notAllowed }, 9)],
  "streams not allowed at a chunk": [fault("streaming", { answer: notAllowed }, 9)],
  "one 500 on a chunk": [fault("streaming", { answer: broken })],
  "a chunk that is cut after it was accepted": [fault("streaming", { cut: "after" })],
  "one 500 on the final": [fault("final", { answer: broken })],
  "500 on every final": [fault("final", { answer: broken }, 99)],
  "504 after the final was taken": [fault("final", { after: late })],
  "the final cut before it was accepted": [fault("final", { cut: "before" })],
  "the final cut after it was accepted": [fault("final", { cut: "after" })],
  "an answer to the final that breaks off": [fault("final", { stall: true })],
  "no id in the answer to the first request": [
    fault("informative", { answer: { status: 201, body: {} } }),
  ],
  "504 on the first request": [fault("informative", { answer: late })],
  "an order error on a chunk": [fault("streaming", { answer: disorder })],
  "a refused token": [fault("streaming", { answer: error(401, "Unauthorized", "") })],
  "a redirect to another host": [
    fault("streaming", { response: () => Response.redirect("https://evil.test/") }),
  ],
  "a gigabyte as an answer": [fault("streaming", { response: endless })],
};

const WORDS = Array.from({ length: 100 }, (_, n) => `word${n} `);
const ANSWER = WORDS.join("");

/** Runs one turn whose answer comes in a hundred pieces over five seconds. */
async function runTurn(at: TestTeamchat): Promise<string> {
  const agent = await at.agent();
  await at.post(at.message("go"));
  const { turnId } = await at.withoutClock(agent.begin());
  let sentLength = 0;
  for (const word of WORDS) {
    agent.delta(turnId, word, sentLength);
    sentLength += word.length;
    await at.clock.advance(50);
  }
  await at.clock.advance(4_000);
  agent.answer(turnId, ANSWER);
  let outcome = "";
  void agent.next("delivery").then((frame) => outcome = String(frame.outcome));
  await at.until(() => outcome !== "");
  return outcome;
}

for (const [name, faults] of Object.entries(STREAM)) {
  test(`the whole answer is delivered once: ${name}`, async (at) => {
    at.kit.script(...faults);
    assert.equal(await runTurn(at), "delivered");
    const texts = at.kit.conversation("a:bea").messages.map(({ text }) => text.trimEnd());
    assert.deepEqual(texts, [ANSWER.trimEnd()]);
  });
}

test("the answer of a turn of three minutes continues as edits of one message", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("go"));
  const { turnId } = await at.withoutClock(agent.begin());
  let text = "";
  for (let second = 0; second < 180; second++) {
    agent.delta(turnId, `${second} `, text.length);
    text += `${second} `;
    await at.clock.advance(1_000);
  }
  const room = at.kit.conversation("a:bea");
  assert.equal(room.messages.length, 1);
  assert.ok((room.messages[0]?.edits ?? 0) > 3);
  agent.answer(turnId, text);
  await at.until(() => room.messages[0]?.text.trimEnd() === text.trimEnd());
  assert.equal(room.messages.length, 1);
});

const tooBig = error(413, "MessageSizeTooBig", "");
const busy = error(503, "Busy", "");
const blocked = error(403, "MessageWritesBlocked", "");
const gone = error(404, "NotFound", "");
const noId = { status: 201, body: {} };
const refused = error(400, "BadSyntax", "");
/**
 * Faults of an answer without a stream: of the placeholder line ("message") and of the edit with
 * the text. Then the outcome reported to the agent, how often the answer is read, and how many
 * lines remain that the platform never confirmed.
 */
const PLAIN: readonly (readonly [string, readonly Fault[], string, number, number])[] = [
  ["429 twice", [fault("message", { answer: throttle }, 2)], "delivered", 1, 0],
  ["504 after the line was accepted", [fault("message", { after: late })], "delivered", 1, 1],
  ["503 on the line", [fault("message", { answer: busy })], "delivered", 1, 0],
  ["503 on every line", [fault("message", { answer: busy }, 99)], "failed", 0, 0],
  [
    "the connection closed after the line was accepted",
    [fault("message", { cut: "after" })],
    "delivered",
    1,
    1,
  ],
  [
    "the connection closed before the line was accepted",
    [fault("message", { cut: "before" })],
    "delivered",
    1,
    0,
  ],
  ["blocked", [fault("message", { answer: blocked })], "blocked", 0, 0],
  ["gone", [fault("message", { answer: gone })], "blocked", 0, 0],
  ["504 after the text was accepted", [fault("edit", { after: late })], "delivered", 1, 0],
  ["503 on the text, twenty times", [fault("edit", { answer: busy }, 20)], "delivered", 1, 0],
  ["503 on the text for ever", [fault("edit", { answer: busy }, 999)], "ambiguous", 0, 1],
  [
    "the connection closed after the text was accepted",
    [fault("edit", { cut: "after" }, 3)],
    "delivered",
    1,
    0,
  ],
  [
    "the connection closed before the text was accepted",
    [fault("edit", { cut: "before" }, 3)],
    "delivered",
    1,
    0,
  ],
  ["an answer to the text that breaks off", [fault("edit", { stall: true })], "delivered", 1, 0],
  ["429 on the text", [fault("edit", { answer: throttle }, 5)], "delivered", 1, 0],
  ["the line deleted meanwhile", [fault("edit", { answer: gone })], "delivered", 1, 1],
  ["the line has no id", [fault("message", { answer: noId })], "delivered", 1, 0],
  ["edits are refused", [fault("edit", { answer: refused }, 9)], "delivered", 1, 1],
  [
    "edits are refused, and 504 after the text was accepted",
    [
      fault("edit", { answer: refused }, 9),
      fault("message", { after: late }, 1, 1),
    ],
    "ambiguous",
    1,
    1,
  ],
  ["413 once", [fault("edit", { answer: tooBig })], "delivered", 1, 0],
  ["413 always", [fault("edit", { answer: tooBig }, 99)], "too_large", 0, 1],
];
for (const [name, scripted, outcome, read, lines] of PLAIN) {
  test(`the outcome of a message in a group is reported: ${name}`, async (at) => {
    at.kit.script(...scripted);
    const agent = await at.agent();
    const id = "19:g@thread.v2";
    await at.post(at.message("<at>a</at> hi", {
      conversation: { id, conversationType: "groupChat" },
      entities: [{ type: "mention", text: "<at>a</at>", mentioned: at.message("").recipient }],
    }));
    const { turnId } = await at.withoutClock(agent.begin());
    agent.answer(turnId, "short");
    let shown = "";
    void agent.next("delivery").then((frame) => shown = String(frame.outcome));
    await at.until(() => shown !== "", 5_000);
    assert.equal(shown, outcome);
    const texts = at.kit.conversation(id).messages.map(({ text }) => text);
    assert.equal(texts.filter((text) => text === "short").length, read);
    assert.equal(texts.filter((text) => text === LINE).length, lines);
    assert.equal(texts.length, read + lines);
  }, { env: { TEAMS_CONVERSATIONS: "groupChat" } });
}

test("100 KB arrive in order, with their code fences, within the platform's rates", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("go"));
  const { turnId } = await at.withoutClock(agent.begin());
  const code = Array.from({ length: 4_000 }, (_, n) => `line ${n} of the code 🙂`).join("\n");
  agent.answer(turnId, `Here:\n\n\`\`\`ts\n${code}\n\`\`\`\n`);
  let shown = "";
  void agent.next("delivery").then((frame) => shown = String(frame.outcome));
  await at.until(() => shown !== "");
  const texts = at.kit.conversation("a:bea").messages.map(({ text }) => text);
  assert.equal(shown, "delivered");
  assert.ok(texts.every((text) => text.length <= 4_000 && text.isWellFormed()));
  const lines = texts.join("\n").split("\n").filter((line) => line.startsWith("line "));
  assert.equal(lines.join("\n"), code);
  assert.ok(texts.every((text) => (text.match(/^```/gm)?.length ?? 0) % 2 === 0));
});

test("answers share one app token, renew an expired one once, and log none", async (at) => {
  const agent = await at.agent();
  const room = at.kit.conversation("a:bea");
  for (let n = 0; n < 10; n++) {
    await at.post(at.message(`${n}`));
    const { turnId } = await at.withoutClock(agent.begin());
    agent.answer(turnId, `${n}`);
    await at.until(() => room.messages.length === n + 1);
    if (n === 4) at.kit.expireTokens();
  }
  assert.equal(at.kit.tokensMinted, 2);
  assert.deepEqual(at.kit.violations(), []);
  const logged = JSON.stringify(at.host.log.lines);
  assert.doesNotMatch(logged, /kit-secret|app-1-|app-2-|eyJ/);
});
