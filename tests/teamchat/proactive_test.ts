/**
 * Messages that agents send without a turn: to their own owner only, each with its true outcome.
 *
 * @module
 */

import assert from "node:assert/strict";
import { LINE } from "teamchat/reply/activities.ts";
import { error } from "tests/teamchat/connector/conversation.ts";
import type { Fault } from "tests/teamchat/connector/kit.ts";
import {
  CAL_OWNER,
  teamchatTest as test,
  type TestAgent,
  type TestTeamchat,
} from "tests/teamchat/fixture.ts";

/** Some outcomes take a quarter of an hour. */
const LONG_STEP_MS = 5_000;
const UNINSTALLED = {
  type: "installationUpdate",
  action: "remove",
  text: undefined,
} as const;

/** Sends a message and waits for the result. */
async function send(
  at: TestTeamchat,
  agent: TestAgent,
  text: string,
  id: string = crypto.randomUUID(),
): Promise<Record<string, unknown>> {
  agent.send({ type: "owner_message", id, text });
  let result: Record<string, unknown> | undefined;
  void agent.next("owner_message_result").then((frame) => result = frame);
  await at.until(() => result !== undefined, LONG_STEP_MS);
  assert.equal(result?.id, id);
  return result ?? {};
}

/** bea's owner writes, so that the conversation is known; the turn is answered. */
async function meet(at: TestTeamchat, agent: TestAgent): Promise<void> {
  await at.post(at.message("hi"));
  const { turnId } = await at.withoutClock(agent.begin());
  agent.answer(turnId, "hi");
  await at.until(() => at.kit.conversation("a:bea").messages.length === 1);
}

const busy = error(503, "Busy", "");
const tooBig = error(413, "MessageSizeTooBig", "");
const throttle = error(429, "TooManyRequests", "", { "retry-after": "60" });
/**
 * Faults on the placeholder line ("message") and on the text ("edit"), the outcome, and how often
 * the owner reads the message.
 */
const OUTCOMES: readonly (readonly [string, readonly Fault[], string, number])[] = [
  ["no fault", [], "delivered", 1],
  ["429 once", [{ kind: "message", effect: { answer: throttle } }], "delivered", 1],
  ["429 for ever", [{ kind: "message", times: 99, effect: { answer: throttle } }], "throttled", 0],
  ["504 after it was accepted", [{ kind: "edit", effect: { after: busy } }], "delivered", 1],
  ["503 for ever", [{ kind: "edit", times: 999, effect: { answer: busy } }], "ambiguous", 0],
  ["413 for ever", [{ kind: "edit", times: 99, effect: { answer: tooBig } }], "too_large", 0],
  [
    "blocked",
    [{
      kind: "message",
      effect: { answer: error(403, "MessageWritesBlocked", "") },
    }],
    "blocked",
    0,
  ],
  [
    "the bot is not in the roster",
    [{
      kind: "message",
      effect: { answer: error(403, "BotNotInConversationRoster", "") },
    }],
    "blocked",
    0,
  ],
  [
    "the conversation is gone",
    [{
      kind: "message",
      effect: { answer: error(404, "ConversationNotFound", "") },
    }],
    "blocked",
    0,
  ],
];
for (const [name, faults, outcome, read] of OUTCOMES) {
  test(`a proactive message is reported with its outcome: ${name}`, async (at) => {
    const agent = await at.agent();
    await meet(at, agent);
    at.kit.script(...faults);
    const result = await send(at, agent, "news");
    assert.equal(result.outcome, outcome);
    const { messages } = at.kit.conversation("a:bea");
    const texts = messages.map(({ text }) => text).filter((text) => text !== LINE);
    assert.equal(texts.filter((text) => text === "news").length, read);
    assert.deepEqual(at.kit.violations(), []);
  });
}

test("a message is not sent before the owner has written, nor to another owner", async (at) => {
  const [bea, cal] = [await at.agent("bea"), await at.agent("cal")];
  await meet(at, bea);
  const result = await send(at, cal, "for cal's owner");
  assert.deepEqual([result.outcome, result.ids], ["blocked", []]);
  const from = { id: "29:cal-owner", aadObjectId: CAL_OWNER };
  await at.post(at.message("hi", { from, conversation: { id: "a:cal" } }));
  await at.withoutClock(cal.begin());
  assert.equal((await send(at, cal, "for cal's owner")).outcome, "delivered");
  const texts = (id: string) => at.kit.conversation(id).messages.map(({ text }) => text);
  assert.deepEqual([texts("a:bea"), texts("a:cal")], [["hi"], ["for cal's owner"]]);
});

test("a conversation that removed the bot waits until its owner writes", async (at) => {
  const agent = await at.agent();
  await meet(at, agent);
  await at.post(at.message("", UNINSTALLED));
  const calls = at.kit.calls.length;
  assert.deepEqual((await send(at, agent, "news")).outcome, "blocked");
  assert.equal(at.kit.calls.length, calls);
  await at.post(at.message("back again"));
  await at.withoutClock(agent.begin());
  assert.equal((await send(at, agent, "news")).outcome, "delivered");
});

test("a group in which the owner writes never gets unprompted messages", async (at) => {
  const agent = await at.agent();
  const conversation = { id: "19:g@thread.v2", conversationType: "groupChat" };
  await at.post(at.message("hi", { conversation }));
  assert.equal((await send(at, agent, "news")).outcome, "blocked");
});

test("a repeated message is sent once and its outcome reported twice", async (at) => {
  const agent = await at.agent();
  await meet(at, agent);
  const [one, two] = [await send(at, agent, "news", "n1"), await send(at, agent, "news", "n1")];
  assert.deepEqual([one.outcome, two.outcome], ["delivered", "delivered"]);
  assert.deepEqual(one.ids, two.ids);
  assert.equal(at.kit.conversation("a:bea").messages.length, 2);
});

test("a message is sent during an answer, which continues", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("go"));
  const { turnId } = await at.withoutClock(agent.begin());
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.streams.length === 1);
  assert.equal((await send(at, agent, "on it")).outcome, "delivered");
  agent.answer(turnId, "done");
  await at.until(() => room.messages.length === 2);
  assert.deepEqual(room.messages.map(({ text }) => text), ["on it", "done"]);
});

test("over thirty messages a minute, empty text and long text are refused at once", async (at) => {
  const agent = await at.agent();
  await meet(at, agent);
  assert.equal((await send(at, agent, " \n")).outcome, "failed");
  assert.equal((await send(at, agent, "x".repeat(300_000))).outcome, "too_large");
  const ids = Array.from({ length: 31 }, (_, n) => `n${n}`);
  for (const id of ids) agent.send({ type: "owner_message", id, text: id });
  const results: Record<string, unknown>[] = [];
  void (async () => {
    for (const _ of ids) results.push(await agent.next("owner_message_result"));
  })();
  await at.until(() => results.length === ids.length);
  assert.deepEqual(results.filter(({ outcome }) => outcome === "throttled").length, 1);
  assert.equal(at.kit.conversation("a:bea").messages.length, 31);
});

test("a message that was being sent is sent once after a restart", async (at) => {
  const agent = await at.agent();
  await meet(at, agent);
  const busyOnce = { kind: "message", times: 1, effect: { answer: busy } } as const;
  at.kit.script(busyOnce);
  agent.send({ type: "owner_message", id: "n1", text: "news" });
  await at.until(() => at.kit.calls.some(({ kind, status }) => kind === "message" && status === 0));
  const again = await at.restart();
  try {
    const back = await again.agent("bea", { open_turns: [] });
    const result = await send(again, back, "news", "n1");
    assert.equal(result.outcome, "delivered");
    const texts = at.kit.conversation("a:bea").messages.map(({ text }) => text);
    assert.equal(texts.filter((text) => text === "news").length, 1);
  } finally {
    await again.withoutClock(again.teamchat.close());
  }
});
