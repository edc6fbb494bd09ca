/**
 * Invokes of an owner: unknown names, and repeated presses of an approval's buttons.
 *
 * @module
 */

import assert from "node:assert/strict";
import { approvalCard, parsePress } from "teamchat/approval_card.ts";
import { SPEND_MORE, spendRequest } from "core/usage/spend_card.ts";
import { teamchatTest as test, type TestTeamchat } from "tests/teamchat/fixture.ts";

const NAMES: readonly (readonly [string | undefined, number])[] = [
  ["fileConsent/invoke", 200],
  ["composeExtension/query", 501],
  [undefined, 501],
  ["", 501],
  // Names that every object has.
  ...["__proto__", ...Object.getOwnPropertyNames(Object.prototype)].map((name) =>
    [name, 501] as const
  ),
];

test("the answer to an invoke depends only on its name, also when repeated", async (at) => {
  for (const [name, status] of NAMES) {
    const invoke = at.message("", { type: "invoke", name });
    const answers = [await at.post(invoke), await at.post(invoke)];
    assert.deepEqual(answers.map((each) => each.status), [status, status], String(name));
  }
});

test("a press while the agent is offline decides nothing; the next one reaches it", async (at) => {
  const first = pressOf(at);
  // The platform repeats an unanswered invoke; neither it nor the owner gets a decision.
  for (const press of [first, first, pressOf(at)]) {
    assert.match(await said(at, press), /nothing was decided/);
  }
  const agent = await at.agent();
  assert.equal(await said(at, pressOf(at)), "Approved.");
  assert.equal((await at.withoutClock(agent.next("approval_decision"))).approval_id, "a1");
});

test("a repeated press reaches the agent, where the first one counts", async (at) => {
  const agent = await at.agent();
  const press = pressOf(at);
  for (const each of [press, press, pressOf(at)]) {
    assert.equal(await said(at, each), "Approved.");
    assert.equal((await at.withoutClock(agent.next("approval_decision"))).digest, "d1");
  }
});

test("a question of a program is a message that says where to answer", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("order the drinks"));
  const { turnId } = await at.withoutClock(agent.begin());
  const room = at.kit.conversation("a:bea");
  agent.event("question_asked", turnId, {
    question_id: "q1",
    mcp: "hub",
    message: "Which *drink*? [see](https://evil.example)",
    fields: [{ name: "d", title: "Drink", kind: "text", required: true }],
    expires: 8.64e15,
  });
  await at.until(() => room.messages.length === 1);
  assert.equal(
    room.messages[0]?.text,
    "MCP hub asks you: Which \\*drink\\*? \\[see\\](https://evil.example)\n\nI wait for the " +
      "answer. You can answer in my page, if you have one; an operator can answer on my host: " +
      "`fleetctl questions answer q1`",
  );
  agent.answer(turnId, "Ordered.");
  await at.until(() => room.messages.length === 2);
  assert.equal(room.messages[1]?.text, "Ordered.");
  assert.deepEqual(at.kit.violations(), []);
});

Deno.test("the card of an agent at its ceiling says who may allow how much more", () => {
  const card = approvalCard({
    id: "s1",
    digest: "d1",
    mcp: undefined,
    tool: SPEND_MORE,
    arguments: spendRequest({
      period: "day",
      unit: "usd",
      limit: 5,
      spent: 5.02,
      isMinimum: false,
      more: 2,
      ownerLeft: 2,
      until: "2026-11-24 00:00 UTC",
    }),
    isDestructive: false,
  });
  assert.deepEqual((card.body as { text: string }[]).map(({ text }) => text), [
    "The daily ceiling of 5 USD is reached",
    "Spent this day: 5.02 USD.",
    "The owner may allow 2 USD more until 2026-11-24 00:00 UTC, and an operator any amount.",
    "Otherwise the turn ends, and the agent pauses until then.",
  ]);
  const actions = card.actions as { title: string; data: object; verb: string; type: string }[];
  assert.deepEqual(actions.map(({ title }) => title), ["Allow 2 USD more", "Deny"]);
  assert.deepEqual(parsePress({ action: actions[0] }), {
    id: "s1",
    digest: "d1",
    decision: "approved",
  });
});

/** A press of the approve button, each under its own id. */
function pressOf(at: TestTeamchat): Record<string, unknown> {
  const card = approvalCard({
    id: "a1",
    digest: "d1",
    mcp: "git",
    tool: "git_reset",
    arguments: {},
    isDestructive: false,
  });
  const [{ verb, data }] = card.actions as [{ verb: string; data: unknown }];
  const value = { action: { type: "Action.Execute", verb, data } };
  return at.message("", { type: "invoke", name: "adaptiveCard/action", value });
}

async function said(at: TestTeamchat, press: Record<string, unknown>): Promise<string> {
  const { status, text } = await at.post(press);
  assert.equal(status, 200);
  return String(JSON.parse(text).value);
}
