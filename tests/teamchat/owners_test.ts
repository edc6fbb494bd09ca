/**
 * Owners who are added, removed or get another agent while the gateway runs. A new owner is served
 * at once, a removed one no longer, nothing of one person reaches another, and no one else loses
 * anything.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  AGENTS,
  BEA_OWNER,
  CAL_OWNER,
  startTestTeamchat,
  teamchatTest,
  type TestTeamchat,
  textsIn,
} from "tests/teamchat/fixture.ts";
import { FILE, LOOK_MS, NEW_OWNER, ownersTest as test } from "tests/teamchat/owner_file.ts";

/** A message of a person in their own chat. */
function ownMessage(at: TestTeamchat, owner: string, text: string, chat: string) {
  return at.message(text, {
    from: { id: `29:${chat}`, aadObjectId: owner },
    conversation: { id: chat, conversationType: "personal" },
  });
}

const turnsOf = (agent: { readonly frames: readonly { readonly type: string }[] }) =>
  agent.frames.filter(({ type }) => type === "turn").length;

async function problems(at: TestTeamchat): Promise<readonly string[]> {
  const health = await at.withoutClock(fetch(at.url.replace("/api/messages", "/healthz")));
  return ((await at.withoutClock(health.json())) as { problems: readonly string[] }).problems;
}

test("a new owner is routed without a restart, from the very next message on", async (at) => {
  const agent = await at.agent();
  assert.equal(
    (await at.post(ownMessage(at, NEW_OWNER, "nobody hears this", "a:new"))).status,
    202,
  );
  // The clock does not reach the next file check: the message itself triggers one.
  await at.write({ ...AGENTS, [NEW_OWNER]: "bea" });
  assert.equal((await at.post(ownMessage(at, NEW_OWNER, "hello", "a:new"))).status, 202);
  const { turnId, text } = await at.withoutClock(agent.begin());
  assert.equal(text, "hello");
  agent.answer(turnId, "welcome");
  await at.until(() => textsIn(at, "a:new").includes("welcome"));
});

test("a new owner's agent may register, and a connected one stays", async (at) => {
  await at.setOwners({ [BEA_OWNER]: "bea" });
  await assert.rejects(at.agent("cal"));
  const bea = await at.agent("bea");
  await at.setOwners(AGENTS);
  const cal = await at.agent("cal");
  await at.post(ownMessage(at, CAL_OWNER, "for cal", "a:cal"));
  assert.equal((await at.withoutClock(cal.begin())).text, "for cal");
  await at.post(at.message("for bea"));
  assert.equal((await at.withoutClock(bea.begin())).text, "for bea");
});

test("a removed owner's messages are ignored, and the agent's connection ends", async (at) => {
  const agent = await at.agent();
  await at.setOwners({ [CAL_OWNER]: "cal" });
  assert.equal((await at.withoutClock(agent.closed)).code, 1008);
  assert.equal((await at.post(at.message("still there?"))).status, 202);
  await assert.rejects(at.agent("bea"));
  assert.equal(
    at.teamchat.metrics.value("activities", { type: "message", result: "owner-unknown" }),
    1,
  );
  await at.setOwners(AGENTS);
  const back = await at.agent("bea");
  await at.clock.advance(10_000);
  assert.equal(turnsOf(back), 0);
});

test("an answer that is being sent to a removed owner stops, its turn is cancelled", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("a long story"));
  const { turnId } = await at.withoutClock(agent.begin());
  const room = at.kit.conversation("a:bea");
  agent.delta(turnId, "Once upon a time", 0);
  await at.until(() => room.streams[0]?.text === "Once upon a time");
  await at.setOwners({ [CAL_OWNER]: "cal" });
  assert.equal((await at.withoutClock(agent.next("cancel"))).turn_id, turnId);
  const sent = at.kit.calls.length;
  await at.clock.advance(180_000);
  assert.equal(at.kit.calls.length, sent, "something was said after the owner was gone");
  // The agent still lists the turn as open: it gets the cancel again when it registers.
  await at.setOwners(AGENTS);
  const back = await at.agent("bea", { open_turns: [turnId] });
  assert.equal((await at.withoutClock(back.next("cancel"))).turn_id, turnId);
  back.answer(turnId, "the end");
  await at.clock.advance(180_000);
  assert.deepEqual(textsIn(at, "a:bea"), []);
  const delivery = await at.withoutClock(back.next("delivery"));
  assert.deepEqual([delivery.turn_id, delivery.outcome], [turnId, "cancelled"]);
});

test("an answer to an owner who is removed stops between its messages", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("all of it"));
  const { turnId } = await at.withoutClock(agent.begin());
  agent.answer(turnId, Array.from({ length: 4_000 }, (_, n) => `line ${n}`).join("\n"));
  await at.until(() => textsIn(at, "a:bea").length >= 2);
  await at.setOwners({ [CAL_OWNER]: "cal" });
  const sent = textsIn(at, "a:bea").length;
  await at.clock.advance(180_000);
  assert.ok(textsIn(at, "a:bea").length <= sent + 1, "the rest was sent");
});

test("an agent that gets a new owner gets nothing of the former one", async (at) => {
  await at.post(at.message("a secret of the former owner"));
  await at.setOwners({ [NEW_OWNER]: "bea", [CAL_OWNER]: "cal" });
  // The agent's token names the former owner until `apply` gives it the new one.
  await assert.rejects(at.agent("bea"));
  await at.post(at.message("another secret"));
  await at.post(ownMessage(at, NEW_OWNER, "for me", "a:new"));
  await at.setOwners({ ...AGENTS, [NEW_OWNER]: "bea" });
  const agent = await at.agent("bea");
  const { turnId, text } = await at.withoutClock(agent.begin());
  assert.equal(text, "for me");
  agent.answer(turnId, "yours alone");
  await at.until(() => textsIn(at, "a:new").includes("yours alone"));
  await at.clock.advance(10_000);
  assert.equal(turnsOf(agent), 1);
  assert.ok(!textsIn(at, "a:bea").some((each) => each.includes("yours alone")));
});

test("a turn queued while two owners were swapped is not delivered after the swap", async (at) => {
  const [bea, cal] = [await at.agent("bea"), await at.agent("cal")];
  await at.setOwners({ [BEA_OWNER]: "cal", [CAL_OWNER]: "bea" });
  for (const agent of [bea, cal]) assert.equal((await at.withoutClock(agent.closed)).code, 1008);
  await at.post(at.message("I am cal's now"));
  await at.setOwners(AGENTS);
  const back = await at.agent("cal");
  await at.clock.advance(10_000);
  assert.equal(turnsOf(back), 0, "a turn queued during the swap reached the agent after it");
});

test("another owner's answer continues while owners change", async (at) => {
  const [bea, cal] = [await at.agent("bea"), await at.agent("cal")];
  await at.post(ownMessage(at, CAL_OWNER, "go", "a:cal"));
  const { turnId } = await at.withoutClock(cal.begin());
  cal.delta(turnId, "One. ", 0);
  await at.until(() => at.kit.conversation("a:cal").streams[0]?.text === "One. ");
  await at.post(ownMessage(at, CAL_OWNER, "and then", "a:cal"));
  await at.setOwners({ [CAL_OWNER]: "cal" });
  await at.withoutClock(bea.closed);
  cal.answer(turnId, "One. Two.");
  const second = await at.withoutClock(cal.begin());
  assert.equal(second.text, "and then");
  cal.answer(second.turnId, "Three.");
  await at.until(() => textsIn(at, "a:cal").length === 2);
  assert.deepEqual(textsIn(at, "a:cal"), ["One. Two.", "Three."]);
  assert.deepEqual(at.kit.violations(), []);
});

for (
  const [name, text] of Object.entries({
    "no JSON": "{",
    "a list": "[]",
    "empty": "",
    "with an invalid owner": '{"bea":"bea"}',
    "with an invalid agent": `{"${BEA_OWNER}":"../bea"}`,
  })
) {
  test(`a file (${name}) changes nothing, and health reports it`, async (at) => {
    const agent = await at.agent();
    await at.setOwners(text);
    assert.deepEqual(await problems(at), ["agents-file-damaged"]);
    assert.ok(at.host.log.lines.some(({ event }) => event === "owners not read"));
    await at.post(at.message("still heard"));
    assert.equal((await at.withoutClock(agent.begin())).text, "still heard");
    assert.equal((await at.post(ownMessage(at, NEW_OWNER, "hello", "a:new"))).status, 202);
    await at.setOwners(AGENTS);
    assert.deepEqual(await problems(at), []);
    assert.equal(turnsOf(agent), 1);
  });
}

test("a deleted file changes nothing; a file without owners removes all", async (at) => {
  const agent = await at.agent();
  await at.host.files.remove(FILE);
  await at.clock.advance(LOOK_MS);
  assert.deepEqual(await problems(at), ["agents-file-damaged"]);
  await at.post(at.message("still heard"));
  const { turnId } = await at.withoutClock(agent.begin());
  agent.answer(turnId, "yes");
  await at.until(() => textsIn(at, "a:bea").includes("yes"));
  await at.setOwners({});
  assert.equal((await at.withoutClock(agent.closed)).code, 1008);
  assert.deepEqual(await problems(at), ["agents-none"]);
});

teamchatTest(
  "owners who changed while no gateway ran: the former one gets nothing",
  async (before) => {
    const { keys } = before;
    const agent = await before.agent();
    await before.post(before.message("begun"));
    const { turnId } = await before.withoutClock(agent.begin());
    await before.post(before.message("waits"));
    await before.post(ownMessage(before, CAL_OWNER, "for cal", "a:cal"));
    await before.withoutClock(before.teamchat.close());
    const env = { TEAMS_AGENTS: JSON.stringify({ [NEW_OWNER]: "bea", [CAL_OWNER]: "cal" }) };
    const changed = await startTestTeamchat({ machine: before, keys, env });
    const cal = await changed.agent("cal");
    assert.equal((await changed.withoutClock(cal.begin())).text, "for cal");
    await changed.clock.advance(60_000);
    assert.deepEqual(textsIn(changed, "a:bea"), []);
    await changed.withoutClock(changed.teamchat.close());
    await using back = await startTestTeamchat({ machine: before, keys });
    const again = await back.agent("bea", { open_turns: [turnId] });
    assert.equal((await back.withoutClock(again.next("cancel"))).turn_id, turnId);
    await back.clock.advance(10_000);
    assert.equal(turnsOf(again), 0);
  },
);
