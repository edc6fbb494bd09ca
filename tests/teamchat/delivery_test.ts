/**
 * Irregular deliveries: doubled, late or out of order; and agents that are slow, connected twice or
 * speak for others. Each row is an event; the test checks what the owner reads.
 *
 * @module
 */

import assert from "node:assert/strict";
import { error } from "tests/teamchat/connector/conversation.ts";
import { CAL_OWNER, teamchatTest as test, textsIn } from "tests/teamchat/fixture.ts";

const ofType = (frames: readonly { readonly type: string }[], type: string) =>
  frames.filter((frame) => frame.type === type);

test("an edit of a message that the agent has received changes nothing", async (at) => {
  const agent = await at.agent();
  const message = at.message("one");
  await at.post(message);
  const { turnId } = await at.withoutClock(agent.begin());
  const edit = { ...message, type: "messageUpdate", timestamp: "2026-01-01T00:00:05.000Z" };
  const channelData = { ...message.channelData as object, eventType: "editMessage" };
  assert.equal((await at.post({ ...edit, text: "two", channelData })).status, 202);
  agent.answer(turnId, "for one");
  await at.until(() => textsIn(at).length === 1);
  await at.clock.advance(5_000);
  assert.equal(ofType(agent.frames, "turn").length, 1);
});

test("two edits of one message are no duplicates; the last text counts", async (at) => {
  const message = at.message("one");
  await at.post(message);
  for (const [n, text] of ["two", "three"].entries()) {
    const timestamp = `2026-01-01T00:00:0${n + 1}.000Z`;
    await at.post({ ...message, type: "messageUpdate", timestamp, text });
  }
  const agent = await at.agent();
  assert.equal((await at.withoutClock(agent.begin())).text, "three");
});

test("an edit that restores a deleted message creates no turn", async (at) => {
  const message = at.message("one");
  await at.post(message);
  await at.post({ ...message, type: "messageDelete", timestamp: "2026-01-01T00:00:01.000Z" });
  const channelData = { ...message.channelData as object, eventType: "undeleteMessage" };
  const again = { ...message, type: "messageUpdate", timestamp: "2026-01-01T00:00:02.000Z" };
  assert.equal((await at.post({ ...again, channelData })).status, 202);
  const agent = await at.agent();
  await at.clock.advance(5_000);
  assert.deepEqual(ofType(agent.frames, "turn"), []);
});

test("a deletion of a message that the agent has received does not stop the answer", async (at) => {
  const agent = await at.agent();
  const message = at.message("one");
  await at.post(message);
  const { turnId } = await at.withoutClock(agent.begin());
  await at.post({ ...message, type: "messageDelete", timestamp: "2026-01-01T00:00:01.000Z" });
  agent.answer(turnId, "for one");
  await at.until(() => textsIn(at).length === 1);
});

test("another user's deletion or edit with the same id changes nothing", async (at) => {
  const message = at.message("one");
  await at.post(message);
  const from = { id: "29:cal", aadObjectId: CAL_OWNER };
  const conversation = { id: "a:cal", conversationType: "personal" };
  const timestamp = "2026-01-01T00:00:01.000Z";
  const foreign = { ...message, from, conversation, timestamp };
  await at.post({ ...foreign, type: "messageUpdate", text: "evil" });
  await at.post({ ...foreign, type: "messageDelete" });
  const agent = await at.agent();
  assert.equal((await at.withoutClock(agent.begin())).text, "one");
});

test("an owner who installs the bot is welcomed once, also if it repeats", async (at) => {
  const added = at.message("", { type: "installationUpdate", action: "add", text: undefined });
  const bot = added.recipient as { id: string };
  const joined = at.message("", { type: "conversationUpdate", membersAdded: [bot] });
  for (const each of [added, added, joined]) assert.equal((await at.post(each)).status, 202);
  await at.until(() => textsIn(at).length > 0);
  await at.post(at.message("", { type: "installationUpdate", action: "add-upgrade" }));
  await at.clock.advance(10_000);
  assert.equal(textsIn(at).length, 1);
  assert.match(textsIn(at)[0] ?? "", /^Hello\. I am your agent/);
});

test("a stranger who installs the bot gets no answer about an agent", async (at) => {
  const from = { id: "29:x", aadObjectId: "00000000-0000-4000-8000-00000000ffff" };
  const conversation = { id: "a:x", conversationType: "personal" };
  const type = "installationUpdate";
  await at.post(at.message("", { type, action: "add", from, conversation }));
  await at.clock.advance(10_000);
  assert.deepEqual(textsIn(at, "a:x"), []);
});

test("answers keep the order of their questions when the first is delayed", async (at) => {
  const agent = await at.agent();
  const throttle = error(429, "TooManyRequests", "", { "retry-after": "30" });
  for (const text of ["1", "2", "3"]) await at.post(at.message(text));
  at.kit.script({ kind: "final", times: 2, effect: { answer: throttle } });
  for (let n = 1; n <= 3; n++) {
    const { turnId, text } = await at.withoutClock(agent.begin());
    agent.answer(turnId, `for ${text}`);
  }
  await at.until(() => textsIn(at).length === 3);
  assert.deepEqual(textsIn(at), ["for 1", "for 2", "for 3"]);
});

test("a press of stop is noticed while no text is sent, and counts for one turn", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("long"));
  const { turnId } = await at.withoutClock(agent.begin());
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.streams.length === 1);
  room.pressStop();
  let isCancelled = false;
  void agent.next("cancel").then(({ turn_id }) => isCancelled = turn_id === turnId);
  await at.until(() => isCancelled);
  agent.event("message", turnId, { message_id: "m", role: "assistant", text: "too late" });
  agent.event("turn_ended", turnId, { outcome: "completed" });
  await at.post(at.message("next"));
  const second = await at.withoutClock(agent.begin());
  agent.answer(second.turnId, "for next");
  await at.until(() => textsIn(at).includes("for next"));
  assert.deepEqual(textsIn(at), ["for next"]);
});

test("of two connections of one agent, the newer one gets the turn", async (at) => {
  const older = await at.agent();
  const newer = await at.agent();
  assert.equal((await at.withoutClock(older.closed)).code, 4000);
  await at.post(at.message("go"));
  const { turnId } = await at.withoutClock(newer.begin());
  newer.answer(turnId, "done");
  await at.until(() => textsIn(at).length === 1);
  assert.deepEqual(ofType(older.frames, "turn"), []);
});

test("a turn that was not accepted is handed to the next connection, under its id", async (at) => {
  const slow = await at.agent();
  await at.post(at.message("go"));
  await at.post(at.message("second"));
  const first = await at.withoutClock(slow.next("turn"));
  await at.clock.advance(60_000);
  assert.equal(ofType(slow.frames, "turn").length, 1);
  const agent = await at.agent("bea", { open_turns: [] });
  const { turnId, text } = await at.withoutClock(agent.begin());
  assert.deepEqual([turnId, text], [first.turn_id, "go"]);
});

test("a turn that is accepted, begun and ended twice is answered once", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("go"));
  const { turnId } = await at.withoutClock(agent.begin());
  agent.send({ type: "turn_accepted", turn_id: turnId });
  agent.event("turn_started", turnId, {});
  agent.answer(turnId, "once");
  agent.event("message", turnId, { message_id: "m2", role: "assistant", text: "and more" });
  agent.event("turn_ended", turnId, { outcome: "failed", reason: "again" });
  let shown = "";
  void agent.next("delivery").then(({ outcome }) => shown = String(outcome));
  await at.until(() => shown !== "");
  await at.clock.advance(10_000);
  assert.deepEqual(textsIn(at), ["once"]);
});

test("an agent's events and previews for another agent's turn are ignored", async (at) => {
  const [bea, cal] = [await at.agent("bea"), await at.agent("cal")];
  await at.post(at.message("go"));
  const { turnId } = await at.withoutClock(bea.begin());
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.streams.length === 1);
  cal.delta(turnId, "evil", 0);
  cal.answer(turnId, "evil");
  cal.send({ type: "turn_accepted", turn_id: turnId });
  await at.withoutClock(cal.next("ack"));
  await at.clock.advance(5_000);
  bea.answer(turnId, "good");
  await at.until(() => textsIn(at).length === 1);
  assert.deepEqual(textsIn(at), ["good"]);
  assert.deepEqual(room.messages[0]?.chunks, []);
  assert.equal(at.teamchat.metrics.value("events", { result: "foreign" }), 2);
});

test("an answer after its turn expired or was given up is only acknowledged", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("go"));
  const { turnId } = await at.withoutClock(agent.begin());
  const back = await at.agent("bea", { epoch: "e-new", open_turns: [] });
  await at.until(() => textsIn(at).length === 1);
  back.answer(turnId, "too late");
  await at.withoutClock(back.next("ack"));
  await at.clock.advance(10_000);
  assert.equal(textsIn(at).length, 1);
});

test("a disk that is full when the answer comes makes the agent send it again", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("go"));
  const { turnId } = await at.withoutClock(agent.begin());
  await at.withoutClock(agent.next("ack"));
  at.fill(true);
  agent.answer(turnId, "kept");
  assert.equal((await at.withoutClock(agent.closed)).code, 1013);
  at.fill(false);
  const back = await at.agent("bea", { open_turns: [turnId] });
  back.answer(turnId, "kept");
  await at.until(() => textsIn(at).includes("kept"));
  assert.deepEqual(textsIn(at).filter((text) => text === "kept"), ["kept"]);
});
