/**
 * Invokes of an owner: unknown names, and repeated presses of an approval's buttons.
 *
 * @module
 */

import assert from "node:assert/strict";
import { approvalCard } from "teamchat/approval_card.ts";
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

test("an invoke and its repetition are answered by its name alone", async (at) => {
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
  assert.equal((await at.still(agent.next("approval_decision"))).approval_id, "a1");
});

test("a repeated press reaches the agent, where the first one counts", async (at) => {
  const agent = await at.agent();
  const press = pressOf(at);
  for (const each of [press, press, pressOf(at)]) {
    assert.equal(await said(at, each), "Approved.");
    assert.equal((await at.still(agent.next("approval_decision"))).digest, "d1");
  }
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
