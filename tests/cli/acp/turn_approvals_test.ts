/**
 * A call that waits for a human, in an editor: decided there, decided elsewhere first, expired, or
 * not decided; and a caller that may not decide.
 *
 * @module
 */

import assert from "node:assert/strict";
import { methods, type SessionUpdate } from "@agentclientprotocol/sdk";
import type { EditorAgentDeps } from "cli/acp/editor_agent.ts";
import { refusal } from "core/errors.ts";
import { err, ok } from "core/result.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { chunkText, editorScene, ending } from "tests/cli/acp/editor_scene.ts";

const ARGUMENTS = { path: "/r", tagName: "v1" };
const CALL = { call_id: "c", mcp: "git", tool: "git_tag", arguments: ARGUMENTS };
const ASKED = {
  approval_id: "a-1",
  mcp: "git",
  version: "1.0.0",
  tool: "git_tag",
  arguments: ARGUMENTS,
  origin: "direct",
  is_destructive: true,
  expires: Date.UTC(2026, 0, 1),
  digest: "d-1",
};
const selected = (optionId: string) => ({ outcome: { outcome: "selected" as const, optionId } });
const CANCELLED = { outcome: { outcome: "cancelled" as const } };

/** A turn whose call waits; `decided` records what was sent to the dial unit. */
async function asked(more: Partial<EditorAgentDeps> = {}, withCall = true) {
  const decided: unknown[] = [];
  const scene = await editorScene({
    async decide({ id, digest }, decision) {
      decided.push([id, digest, decision]);
      const by = { by: "the operator", surface: "cli" };
      await turn.event("approval_decided", { approval_id: id, decision, ...by });
      return ok(undefined);
    },
    ...more,
  });
  const sessionId = await scene.open();
  const answer = scene.prompt(sessionId, "tag it");
  const turn = await scene.nextTurn();
  if (withCall) await turn.event("tool_call", CALL);
  await turn.event("approval_asked", ASKED);
  const finish = async () => {
    turn.end(ending("completed"));
    const stop = await answer;
    await scene.close();
    return stop;
  };
  return { scene, sessionId, turn, decided, finish };
}

const isEnd = (id: string) => (update: SessionUpdate) =>
  update.sessionUpdate === "tool_call_update" && update.toolCallId === id &&
  update.status !== "pending";
const says = (words: string) => (update: SessionUpdate) =>
  /_chunk$/.test(update.sessionUpdate) && chunkText(update).includes(words);

for (const [option, decision] of [["approve", "approved"], ["deny", "denied"]] as const) {
  Deno.test(`an editor decides: ${decision}, with the digest shown`, async () => {
    const { scene, decided, finish } = await asked();
    const shown = await scene.nextRequest();
    assert.equal(shown.request.toolCall.toolCallId, "1/c");
    shown.answer(selected(option));
    const update = await scene.update(isEnd("1/c"));
    assert.ok("status" in update && update.status === "in_progress");
    assert.deepEqual(decided, [["a-1", "d-1", decision]]);
    assert.equal(await finish(), "end_turn");
    assert.ok(!scene.updates.some(says("by the operator")), "its own decision is no news");
  });
}

Deno.test("a decision from elsewhere closes the question in the editor", async () => {
  const { scene, turn, decided, finish } = await asked();
  const shown = await scene.nextRequest();
  await turn.event("approval_decided", {
    approval_id: "a-1",
    decision: "approved",
    by: "ada@example.org",
    surface: "page",
  });
  await scene.update(says("The call was approved by ada@example.org."));
  assert.ok(shown.signal.aborted);
  shown.answer(selected("deny"));
  assert.equal(await finish(), "end_turn");
  assert.deepEqual(decided, []);
});

Deno.test("a question that expired or was withdrawn is closed", async () => {
  for (const state of ["expired", "superseded"]) {
    const { scene, turn, finish } = await asked({}, false);
    const shown = await scene.nextRequest();
    assert.equal(shown.request.toolCall.toolCallId, "approval-a-1");
    await turn.event("approval_ended", { approval_id: "a-1", state });
    const update = await scene.update(isEnd("approval-a-1"));
    assert.ok("status" in update && update.status === "failed");
    await finish();
    assert.equal(scene.updates.some(says("No decision was made in time")), state === "expired");
  }
});

Deno.test("the end of the turn closes the question", async () => {
  const { scene, finish } = await asked();
  const shown = await scene.nextRequest();
  await finish();
  assert.ok(shown.signal.aborted);
});

Deno.test("a decision that is refused is reported", async () => {
  const { scene, finish } = await asked({
    decide: async () => err(refusal("approval-decided", "Cannot decide: ada did it before")),
  });
  (await scene.nextRequest()).answer(selected("approve"));
  await scene.update(says("ada did it before"));
  await finish();
});

Deno.test("an answer without a decision leaves the question open elsewhere", async () => {
  const clock = fakeClock();
  const waits = Promise.withResolvers<void>();
  const { scene, decided, finish } = await asked({
    clock: {
      now: () => clock.now(),
      after(ms, work) {
        if (ms === 1_000) waits.resolve();
        return clock.after(ms, work);
      },
    },
  });
  (await scene.nextRequest()).answer(CANCELLED);
  await waits.promise;
  await clock.advance(1_000);
  await scene.update(says("fleetctl approvals approve a-1"));
  assert.deepEqual(decided, []);
  await finish();
});

Deno.test("an editor that cancels the turn does not show how to decide", async () => {
  const { scene, sessionId, turn, finish } = await asked();
  (await scene.nextRequest()).answer(CANCELLED);
  await scene.agent.notify(methods.agent.session.cancel, { sessionId });
  await scene.clock.advance(1_000);
  assert.ok(turn.watcher.stop.aborted);
  assert.equal(await finish(), "end_turn");
  assert.ok(!scene.updates.some(says("approvals approve")));
});

Deno.test("a caller that may not decide reads who can", async () => {
  const { scene, finish } = await asked({ mayDecide: false });
  await scene.update(says("an operator runs `fleetctl approvals show a-1`"));
  await finish();
});
