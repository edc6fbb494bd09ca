/**
 * Data left by a former owner. Feedback on answers is sent to that owner's agent only. A disk that
 * fails at the moment of the change delays the cleanup, but does not affect anyone else's work.
 *
 * @module
 */

import assert from "node:assert/strict";
import { agentOf, AGENTS, type TestAgent, type TestTeamchat } from "tests/teamchat/fixture.ts";
import {
  NEW_OWNER,
  type OwnedTeamchat,
  ownersTest,
  WITHOUT_BEA,
} from "tests/teamchat/owner_file.ts";

const SECRET = "a secret of the former owner";

/** Makes an answer, on which the owner gives feedback while the agent is away. */
async function thumbWhileAway(at: TestTeamchat): Promise<void> {
  const agent = await at.agent();
  await at.post(at.message("hi"));
  const { turnId } = await at.withoutClock(agent.begin());
  agent.answer(turnId, "hi");
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.messages.length === 1);
  await at.withoutClock(agent.next("delivery"));
  agent.connection.terminate();
  await at.withoutClock(agent.closed);
  const feedback = JSON.stringify({ feedbackText: SECRET });
  const value = { actionName: "feedback", actionValue: { reaction: "dislike", feedback } };
  const [{ id: replyToId } = { id: "" }] = room.messages;
  await at.post(at.message("", { type: "invoke", name: "message/submitAction", replyToId, value }));
}

/** The agent of the new owner. */
async function agentOfNewOwner(at: TestTeamchat): Promise<TestAgent> {
  return await at.withoutClock(agentOf(await at.dial("bea", NEW_OWNER), "bea"));
}

/** Returns the events that an agent received, once nothing else is in transit. */
async function eventsOf(at: TestTeamchat, agent: TestAgent): Promise<readonly unknown[]> {
  agent.send({ type: "agents", id: "after" });
  await at.withoutClock(agent.next("agents_result"));
  return agent.frames.filter(({ type }) => type === "owner_event").map(({ payload }) => payload);
}

async function problems(at: TestTeamchat): Promise<readonly string[]> {
  const response = await at.withoutClock(fetch(at.url.replace("/api/messages", "/healthz")));
  const health = await at.withoutClock(response.json()) as { readonly problems: readonly string[] };
  return health.problems.filter((name) => !name.startsWith("keys-"));
}

const test = (name: string, fn: (at: OwnedTeamchat) => Promise<void>) => ownersTest(name, fn);

test("a former owner's feedback does not go to the next owner's agent", async (at) => {
  await thumbWhileAway(at);
  await at.setOwners({ ...WITHOUT_BEA, [NEW_OWNER]: "bea" });
  assert.deepEqual(await eventsOf(at, await agentOfNewOwner(at)), []);
});

test("a former owner's feedback stays private after a failed deletion, too", async (at) => {
  await thumbWhileAway(at);
  at.fill(true);
  await at.setOwners({ ...WITHOUT_BEA, [NEW_OWNER]: "bea" });
  assert.deepEqual(await problems(at), ["former-owners-left"]);
  at.fill(false);
  assert.deepEqual(await eventsOf(at, await agentOfNewOwner(at)), []);
  await at.clock.advance(6_000);
  assert.deepEqual(await problems(at), []);
});

test("feedback is passed on while the agent still belongs to that owner", async (at) => {
  await thumbWhileAway(at);
  await at.setOwners({ ...AGENTS, [NEW_OWNER]: "bea" });
  const notices = await eventsOf(at, await agentOfNewOwner(at));
  assert.deepEqual(notices, [{ reaction: "dislike", text: SECRET }]);
});

test("a turn whose confirmation fails on a bad disk does not block the next", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("first"));
  const turn = await at.withoutClock(agent.next("turn"));
  await at.post(at.message("second"));
  at.spoil(true);
  // Confirmed twice: the second confirmation may also have files to release.
  agent.send({ type: "turn_accepted", turn_id: String(turn.turn_id) });
  agent.send({ type: "turn_accepted", turn_id: String(turn.turn_id) });
  let code: number | undefined;
  agent.closed.then((ended) => code = ended.code);
  await at.until(() => code !== undefined, 50);
  assert.equal(code, 1013);
  at.spoil(false);
  const again = await at.agent("bea", { open_turns: [String(turn.turn_id)] });
  assert.equal((await at.withoutClock(again.next("turn"))).text, "second");
});

test("an unreadable disk ends the agent's connection, and is read again later", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("a secret"));
  await at.withoutClock(agent.begin());
  at.spoil(true);
  await at.setOwners({ ...WITHOUT_BEA, [NEW_OWNER]: "bea" });
  let code: number | undefined;
  agent.closed.then((ended) => code = ended.code);
  await at.until(() => code !== undefined);
  assert.equal(code, 1008);
  // Longer than the gateway's interval between checks of pending work: the work stays pending.
  await at.clock.advance(60_000);
  assert.deepEqual(await problems(at), ["former-owners-left"]);
  at.spoil(false);
  await at.clock.advance(6_000);
  assert.deepEqual(await problems(at), []);
  const next = await agentOfNewOwner(at);
  await eventsOf(at, next);
  assert.deepEqual(next.frames.filter(({ type }) => type === "turn"), []);
  assert.equal(at.host.log.lines.some(({ event }) => event === "owners not read"), false);
});
