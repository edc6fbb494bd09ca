/**
 * Thumbs, feedback texts and reactions: sent to the owner's own agent once it is connected, until
 * it has acknowledged each.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  CAL_OWNER,
  teamchatTest as test,
  type TestAgent,
  type TestTeamchat,
} from "tests/teamchat/fixture.ts";

/** Runs one turn with an answer; returns the turn and the id of the answer's message. */
async function answered(at: TestTeamchat, agent: TestAgent) {
  await at.post(at.message("hi"));
  const { turnId } = await at.withoutClock(agent.begin());
  agent.answer(turnId, "hi");
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.messages.length === 1);
  await at.withoutClock(agent.next("delivery"));
  return { turnId, replyToId: room.messages[0]?.id ?? "" };
}

function feedback(replyToId: string, reaction = "like", words?: string) {
  const value = {
    actionName: "feedback",
    actionValue: {
      reaction,
      feedback: JSON.stringify(words === undefined ? {} : { feedbackText: words }),
    },
  };
  return { type: "invoke", name: "message/submitAction", replyToId, value };
}

test("a thumb with a comment reaches the agent, with the turn that it is about", async (at) => {
  const agent = await at.agent();
  const { turnId, replyToId } = await answered(at, agent);
  const posted = await at.post(at.message("", feedback(replyToId, "dislike", "too long")));
  assert.deepEqual([posted.status, posted.text], [200, "{}"]);
  const frame = await at.withoutClock(agent.next("owner_event"));
  assert.deepEqual([frame.kind, frame.turn_id, frame.payload], [
    "feedback",
    turnId,
    { reaction: "dislike", text: "too long" },
  ]);
});

test("a reaction reaches the agent, and so does its removal", async (at) => {
  const agent = await at.agent();
  const { turnId, replyToId } = await answered(at, agent);
  const type = "messageReaction";
  const added = { type, replyToId, reactionsAdded: [{ type: "like" }] };
  const removed = { type, replyToId, reactionsRemoved: [{ type: "like" }] };
  assert.equal((await at.post(at.message("", added))).status, 202);
  const first = await at.withoutClock(agent.next("owner_event"));
  assert.deepEqual([first.kind, first.turn_id, first.payload], [
    "reaction",
    turnId,
    { added: ["like"], removed: [] },
  ]);
  agent.send({ type: "owner_event_taken", id: String(first.id) });
  await at.post(at.message("", { ...removed, timestamp: "2026-01-01T00:00:09.000Z" }));
  let last = await at.withoutClock(agent.next("owner_event"));
  // A resend of the acknowledged event may already be in transit.
  if (last.id === first.id) last = await at.withoutClock(agent.next("owner_event"));
  assert.deepEqual(last.payload, { added: [], removed: ["like"] });
});

test("an offline agent is notified until it has accepted the event", async (at) => {
  const agent = await at.agent();
  const { replyToId } = await answered(at, agent);
  agent.connection.terminate();
  await at.withoutClock(agent.closed);
  await at.post(at.message("", feedback(replyToId)));
  const second = await at.agent("bea", { open_turns: [] });
  const notification = await at.withoutClock(second.next("owner_event"));
  second.connection.terminate();
  const third = await at.agent("bea", { open_turns: [] });
  assert.equal((await at.withoutClock(third.next("owner_event"))).id, notification.id);
  third.send({ type: "owner_event_taken", id: String(notification.id) });
  third.send({ type: "agents", id: "after" });
  await at.withoutClock(third.next("agents_result"));
  const fourth = await at.agent("bea", { open_turns: [] });
  fourth.send({ type: "agents", id: "after" });
  await at.withoutClock(fourth.next("agents_result"));
  assert.deepEqual(fourth.frames.filter(({ type }) => type === "owner_event"), []);
});

test("the same thumb delivered again is reported once", async (at) => {
  const agent = await at.agent();
  const { replyToId } = await answered(at, agent);
  const first = at.message("", feedback(replyToId));
  // The platform repeats an invoke under its own id, and half a minute later under a new one.
  for (const each of [first, first, at.message("", feedback(replyToId))]) {
    assert.equal((await at.post(each)).status, 200);
  }
  await at.withoutClock(agent.next("owner_event"));
  agent.send({ type: "agents", id: "after" });
  await at.withoutClock(agent.next("agents_result"));
  assert.equal(agent.frames.filter(({ type }) => type === "owner_event").length, 1);
});

test("another owner's thumb goes to the other owner's agent, without the turn", async (at) => {
  const [bea, cal] = [await at.agent("bea"), await at.agent("cal")];
  const { replyToId } = await answered(at, bea);
  const from = { id: "29:cal", aadObjectId: CAL_OWNER };
  assert.equal((await at.post(at.message("", { ...feedback(replyToId), from }))).status, 200);
  assert.equal((await at.withoutClock(cal.next("owner_event"))).turn_id, undefined);
  assert.deepEqual(bea.frames.filter(({ type }) => type === "owner_event"), []);
});

const NOTHING: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "another action": { value: { actionName: "vote", actionValue: { reaction: "like" } } },
  "an unknown reaction": { value: { actionName: "feedback", actionValue: { reaction: "meh" } } },
  "no value": { value: undefined },
  "a list": { value: [] },
  "a number as the action's value": { value: { actionName: "feedback", actionValue: 5 } },
};
for (const [name, more] of Object.entries(NOTHING)) {
  test(`empty feedback is answered and not passed on: ${name}`, async (at) => {
    const agent = await at.agent();
    const invoke = { type: "invoke", name: "message/submitAction", ...more };
    assert.equal((await at.post(at.message("", invoke))).status, 200);
    agent.send({ type: "agents", id: "after" });
    await at.withoutClock(agent.next("agents_result"));
    assert.deepEqual(agent.frames.filter(({ type }) => type === "owner_event"), []);
  });
}

test("the length of comments and reactions is bounded, and so is their number", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("", feedback("x", "like", "w".repeat(50_000))));
  const first = await at.withoutClock(agent.next("owner_event"));
  assert.equal((first.payload as { text: string }).text.length, 2_000);
  const reactionsAdded = Array.from({ length: 60 }, (_, n) => ({ type: `r${n}\n[x]` }));
  agent.send({ type: "owner_event_taken", id: String(first.id) });
  await at.post(at.message("", { type: "messageReaction", reactionsAdded }));
  let last = await at.withoutClock(agent.next("owner_event"));
  if (last.id === first.id) last = await at.withoutClock(agent.next("owner_event"));
  const { added } = last.payload as { added: readonly string[] };
  assert.deepEqual([added.length, added[3]], [16, "r3x"]);
});
