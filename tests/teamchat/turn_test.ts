/**
 * A message from start to end: accepted, handed to its owner's agent, streamed, delivered once.
 *
 * @module
 */

import assert from "node:assert/strict";
import { BEA_OWNER, CAL_OWNER, RESET_ASKED, teamchatTest as test } from "tests/teamchat/fixture.ts";

test("an owner's message reaches the owner's agent, and the answer streams back", async (at) => {
  const agent = await at.agent();
  assert.equal((await at.post(at.message("hello"))).status, 202);
  const { turnId, text } = await at.withoutClock(agent.begin());
  assert.equal(text, "hello");
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.streams.length === 1);
  agent.delta(turnId, "One. ", 0);
  await at.until(() => room.streams[0]?.text === "One. ");
  agent.delta(turnId, "Two. ", 5);
  await at.until(() => room.streams[0]?.text === "One. Two. ");
  agent.answer(turnId, "One. Two. Three.");
  await at.until(() => room.messages.length === 1);
  assert.equal(room.messages[0]?.text, "One. Two. Three.");
  assert.deepEqual(room.messages[0]?.chunks, ["One. ", "One. Two. "]);
  assert.deepEqual(at.kit.violations(), []);
  const delivery = await at.withoutClock(agent.next("delivery"));
  assert.deepEqual([delivery.turn_id, delivery.outcome], [turnId, "delivered"]);
});

test("text that arrives before the start of its turn is stored is shown too", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("hello"));
  const turnId = String((await at.withoutClock(agent.next("turn"))).turn_id);
  // Everything is sent before the clock lets the gateway write.
  agent.send({ type: "turn_accepted", turn_id: turnId });
  agent.event("turn_started", turnId, {});
  agent.delta(turnId, "One. ", 0);
  agent.delta(turnId, "Two. ", 5);
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.streams[0]?.text === "One. Two. ");
  agent.delta(turnId, "Three. ", 10);
  await at.until(() => room.streams[0]?.text === "One. Two. Three. ");
  agent.answer(turnId, "One. Two. Three. Four.");
  await at.until(() => room.messages.length === 1);
});

test("another owner's message never reaches this agent", async (at) => {
  const bea = await at.agent("bea");
  const cal = await at.agent("cal");
  const from = { id: "29:cal-owner", name: "c", aadObjectId: CAL_OWNER.toUpperCase() };
  const conversation = { id: "a:cal", conversationType: "personal" };
  await at.post(at.message("for cal", { from, conversation }));
  assert.equal((await at.withoutClock(cal.begin())).text, "for cal");
  await at.post(at.message("for bea"));
  assert.equal((await at.withoutClock(bea.begin())).text, "for bea");
  assert.deepEqual(bea.frames.filter(({ type }) => type === "turn").length, 1);
});

test("an offline agent gets its turns in order, and its owner one notice", async (at) => {
  await at.post(at.message("first"));
  await at.post(at.message("second"));
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.messages.length > 0);
  assert.match(room.messages[0]?.text ?? "", /not connected/);
  await at.clock.advance(60_000);
  assert.equal(room.messages.length, 1);
  const agent = await at.agent();
  const first = await at.withoutClock(agent.begin());
  assert.equal(first.text, "first");
  agent.answer(first.turnId, "1");
  const second = await at.withoutClock(agent.begin());
  assert.equal(second.text, "second");
  agent.answer(second.turnId, "2");
  await at.until(() => room.messages.length === 3);
  assert.deepEqual(room.messages.slice(1).map(({ text }) => text), ["1", "2"]);
});

test("a turn that waited too long ends with one answer", async (at) => {
  await at.post(at.message("too late"));
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.messages.length === 2);
  assert.match(room.messages[1]?.text ?? "", /was not delivered/);
  const agent = await at.agent();
  await at.clock.advance(5_000);
  assert.deepEqual(agent.frames.filter(({ type }) => type === "turn"), []);
}, { env: { TEAMS_OFFLINE_TTL: "60s" } });

test("the stop button cancels the turn, and no further text is sent", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("long"));
  const { turnId } = await at.withoutClock(agent.begin());
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.streams.length === 1);
  room.pressStop();
  agent.delta(turnId, "more", 0);
  let cancelled = false;
  void agent.next("cancel").then(() => cancelled = true);
  await at.until(() => cancelled);
  agent.event("turn_ended", turnId, { outcome: "cancelled" });
  await at.clock.advance(10_000);
  assert.deepEqual(room.messages, []);
  assert.equal((await at.withoutClock(agent.next("delivery"))).outcome, "cancelled");
});

test("delivery of an answer continues after a restart", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("hello"));
  const { turnId } = await at.withoutClock(agent.begin());
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.streams.length === 1);
  const again = await at.restart();
  try {
    const back = await again.agent("bea", { open_turns: [turnId] });
    back.answer(turnId, "after all");
    await again.until(() => room.messages.length === 1);
    assert.equal(room.messages[0]?.text, "after all");
    assert.deepEqual(at.kit.violations(), []);
  } finally {
    await again.withoutClock(again.teamchat.close());
  }
});

test("a turn that the agent lost ends, and its owner is notified", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("hello"));
  await at.withoutClock(agent.begin());
  await at.agent("bea", { epoch: "e-new", open_turns: [] });
  assert.equal((await at.withoutClock(agent.closed)).code, 4000);
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.messages.length === 1);
  assert.match(room.messages[0]?.text ?? "", /no longer has this turn/);
});

test("the same delivery five times at once is one turn", async (at) => {
  const agent = await at.agent();
  const message = at.message("once");
  const answers = await Promise.all(Array.from({ length: 5 }, () => at.post(message)));
  assert.deepEqual(answers.map(({ status }) => status), [202, 202, 202, 202, 202]);
  const { turnId } = await at.withoutClock(agent.begin());
  agent.answer(turnId, "one");
  await at.until(() => at.kit.conversation("a:bea").messages.length === 1);
  assert.equal(agent.frames.filter(({ type }) => type === "turn").length, 1);
});

test("an edit changes a turn that waits, a deletion withdraws it", async (at) => {
  const [one, two] = [at.message("one"), at.message("two")];
  await at.post(one);
  await at.post(two);
  const edited = { ...one, type: "messageUpdate", text: "one, better", timestamp: "t1" };
  assert.equal((await at.post(edited)).status, 202);
  await at.post({ ...edited, text: "one, best", timestamp: "t2" });
  await at.post({ ...two, type: "messageDelete", text: "", timestamp: "t3" });
  const agent = await at.agent();
  const { turnId, text } = await at.withoutClock(agent.begin());
  assert.equal(text, "one, best");
  agent.answer(turnId, "ok");
  await at.until(() => at.kit.conversation("a:bea").messages.length > 0);
  assert.equal(agent.frames.filter(({ type }) => type === "turn").length, 1);
});

test("a group is silent unless it is enabled", async (at) => {
  const conversation = { id: "19:group@thread.v2", conversationType: "groupChat" };
  assert.equal((await at.post(at.message("hi", { conversation }))).status, 202);
  await at.clock.advance(30_000);
  assert.equal(at.kit.conversation("19:group@thread.v2").messages.length, 0);
  assert.equal(
    at.teamchat.metrics.value("activities", {
      type: "message",
      result: "conversation-not-enabled",
    }),
    1,
  );
});

test("in an enabled group, a mention gets one answer without a stream", async (at) => {
  const agent = await at.agent();
  const id = "19:group@thread.v2";
  const conversation = { id, conversationType: "groupChat" };
  await at.post(at.message("not for you", { conversation }));
  const bot = { id: at.message("").recipient as unknown };
  const mentioned = (bot.id as { id: string }).id;
  await at.post(at.message("<at>agent</at> what is <at>Ann</at> doing?", {
    conversation,
    entities: [
      { type: "mention", text: "<at>agent</at>", mentioned: { id: mentioned } },
      { type: "mention", text: "<at>Ann</at>", mentioned: { id: "29:ann" } },
    ],
  }));
  const { turnId, text } = await at.withoutClock(agent.begin());
  assert.equal(text, "what is Ann doing?");
  const room = at.kit.conversation(id);
  await at.until(() => room.typing >= 2);
  agent.answer(turnId, "answer");
  await at.until(() => room.messages.length === 1);
  assert.equal(room.streams.length, 0);
}, {
  env: { TEAMS_CONVERSATIONS: "personal,groupChat" },
});

test("an owner without an agent is notified once, and no agent gets the message", async (at) => {
  const agent = await at.agent();
  const from = { id: "29:x", aadObjectId: "00000000-0000-4000-8000-000000000fff" };
  const conversation = { id: "a:x", conversationType: "personal" };
  for (let n = 0; n < 3; n++) await at.post(at.message(`hi ${n}`, { from, conversation }));
  const room = at.kit.conversation("a:x");
  await at.until(() => room.messages.length > 0);
  await at.clock.advance(60_000);
  assert.equal(room.messages.length, 1);
  assert.match(room.messages[0]?.text ?? "", /no agent for you/);
  assert.deepEqual(agent.frames.filter(({ type }) => type === "turn"), []);
  assert.ok(BEA_OWNER !== from.aadObjectId);
});

test("a call that asks is shown as a card, and only its owner's press counts", async (at) => {
  const bea = await at.agent("bea");
  const cal = await at.agent("cal");
  await at.post(at.message("delete it"));
  const { turnId } = await at.withoutClock(bea.begin());
  bea.event("approval_asked", turnId, RESET_ASKED);
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.messages.length === 1);
  const [card] = room.messages[0]?.body.attachments as { content: { actions: CardAction[] } }[];
  const approve = card?.content.actions[0];
  assert.equal(approve?.title, "Approve");
  const value = { action: { type: "Action.Execute", verb: approve?.verb, data: approve?.data } };
  const press = { type: "invoke", name: "adaptiveCard/action", value };
  const stranger = { id: "29:cal", aadObjectId: CAL_OWNER };
  const foreign = await at.post(at.message("", { ...press, from: stranger }));
  assert.equal(foreign.status, 200);
  assert.equal((await at.withoutClock(cal.next("approval_decision"))).approval_id, "a1");
  assert.deepEqual(bea.frames.filter(({ type }) => type === "approval_decision"), []);
  const own = await at.post(at.message("", press));
  assert.equal(JSON.parse(own.text).value, "Approved.");
  const decision = await at.withoutClock(bea.next("approval_decision"));
  assert.deepEqual(
    [decision.approval_id, decision.digest, decision.decision, decision.by, decision.surface],
    ["a1", "d1", "approved", BEA_OWNER, "teamchat"],
  );
  bea.answer(turnId, "done");
  await at.until(() => room.messages.length === 2);
});

interface CardAction {
  readonly title: string;
  readonly verb: string;
  readonly data: unknown;
}
