/**
 * A program's question in an editor: answered there, answered elsewhere first, expired, or not
 * answered; an editor without forms, and a caller that may not answer.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { CreateElicitationResponse, SessionUpdate } from "@agentclientprotocol/sdk";
import type { EditorAgentDeps } from "cli/acp/editor_agent.ts";
import { defined } from "core/defined.ts";
import { ok } from "core/result.ts";
import type { FormHandler } from "tests/support/acp_editor.ts";
import { chunkText, editorScene, ending } from "tests/cli/acp/editor_scene.ts";

const ASKED = {
  question_id: "q-1",
  mcp: null,
  message: "Which colour?",
  fields: [{ name: "colour", title: "Colour", kind: "text", required: true, max: 5 }],
  expires: 0,
};
const FORMS = { elicitation: { form: {} } };
const filled = (colour: string): CreateElicitationResponse => ({
  action: "accept",
  content: { colour },
});

/** A turn in which a program asks; `sent` records what went to the dial unit. */
async function asked(
  fill: FormHandler | undefined,
  more: Partial<EditorAgentDeps> = {},
  capabilities = FORMS,
) {
  const sent: unknown[] = [];
  const scene = await editorScene({
    async answer({ id }, answer) {
      sent.push([id, answer]);
      const by = { action: answer.action, by: "the operator", surface: "cli" };
      await turn.event("question_answered", { question_id: id, ...by });
      return ok(undefined);
    },
    ...more,
  }, { capabilities, ...defined({ fill }) });
  const stop = scene.prompt(await scene.open(), "paint it");
  const turn = await scene.nextTurn();
  await turn.event("question_asked", ASKED);
  const finish = async () => {
    turn.end(ending("completed"));
    assert.equal(await stop, "end_turn");
    await scene.close();
  };
  return { scene, turn, sent, finish };
}

const says = (words: string) => (update: SessionUpdate) =>
  /_chunk$/.test(update.sessionUpdate) && chunkText(update).includes(words);

for (
  const [name, response, want] of [
    ["answers", filled("red"), { action: "answered", values: { colour: "red" } }],
    ["declines", { action: "decline" }, { action: "declined" }],
  ] as const
) {
  Deno.test(`an editor ${name} a question`, async () => {
    const answered = Promise.withResolvers<unknown>();
    const { scene, finish } = await asked(async () => response, {
      answer: async (question, answer) => ok(answered.resolve([question.id, answer])),
    });
    assert.deepEqual(await answered.promise, ["q-1", want]);
    await finish();
    assert.ok(!scene.updates.some(says("by the operator")));
  });
}

Deno.test("an editor shows the form again after an invalid answer", async () => {
  const tries = ["crimson", "red"];
  const { scene, sent, turn, finish } = await asked(async () => filled(tries.shift() ?? ""));
  await scene.update(says("colour: must be at most 5 characters"));
  while (sent.length === 0) await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(sent, [["q-1", { action: "answered", values: { colour: "red" } }]]);
  await turn.event("question_ended", { question_id: "q-1", state: "delivered" });
  await finish();
});

Deno.test("the form closes when the question is answered elsewhere or ends", async () => {
  for (
    const [kind, payload, words] of [
      ["question_answered", { action: "declined", by: "zoe" }, "was declined by zoe"],
      ["question_ended", { state: "expired" }, "No answer was given in time"],
      ["question_ended", { state: "withdrawn" }, undefined],
    ] as const
  ) {
    const shown = Promise.withResolvers<AbortSignal>();
    const { scene, turn, sent, finish } = await asked(async (_, withdrawn) => {
      shown.resolve(withdrawn);
      await new Promise((resolve) => withdrawn.addEventListener("abort", resolve));
      return { action: "cancel" };
    });
    const withdrawn = await shown.promise;
    await turn.event(kind, { question_id: "q-1", ...payload });
    if (words !== undefined) await scene.update(says(words));
    await finish();
    assert.ok(withdrawn.aborted);
    assert.deepEqual(sent, []);
  }
});

Deno.test("without forms, or the right to answer, the editor shows how to answer", async () => {
  const fill: FormHandler = async () => filled("red");
  for (
    const given of [
      await asked(fill, { mayDecide: false }),
      await asked(undefined),
      await asked(fill, {}, { elicitation: {} } as typeof FORMS),
    ]
  ) {
    await given.scene.update(says("`fleetctl questions answer q-1`"));
    assert.deepEqual(given.sent, []);
    await given.finish();
  }
});
