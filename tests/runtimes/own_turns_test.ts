/**
 * Claude Code begins a turn itself when a background task ends. A prompt that arrives meanwhile
 * gets its own answer, and a cancel ends it.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ModelReply, ModelRequest } from "tests/fakes/model_endpoint.ts";
import { type ProgramScene, withProgram } from "tests/support/program_scene.ts";
import { sightOf } from "tests/support/model_sight.ts";
import { type RuntimeProgram, shellCall, testPrograms } from "tests/support/runtime_programs.ts";

/** Runs a turn that starts a background task, whose end makes the program begin a turn. */
async function startTask(program: RuntimeProgram, { model, turn }: ProgramScene): Promise<void> {
  const { call } = shellCall(program, "true");
  const background = { ...call, arguments: { ...call.arguments, run_in_background: true } };
  model.script({ kind: "answer", calls: [background] }, { kind: "answer", text: "it runs" });
  assert.deepEqual((await turn("start it")).outcome, { outcome: "completed" });
}

const allow = { decidePermission: () => Promise.resolve({ decision: "allow" as const }) };

testPrograms(["claude-code"], "answers a prompt after a turn that it began", async (program) => {
  await withProgram(program, async (scene) => {
    const { model, turn } = scene;
    const begun = Promise.withResolvers<void>();
    const prompted = Promise.withResolvers<void>();
    model.script();
    await startTask(program, {
      ...scene,
      model: {
        ...model,
        script: (...replies) =>
          model.script(...replies, () => {
            begun.resolve();
            return { kind: "answer", text: "the task is over", after: prompted.promise };
          }, { kind: "answer", text: "violet" }),
      },
    });
    await begun.promise;
    const answered = turn("which colour?");
    prompted.resolve();
    const { outcome, text } = await answered;
    assert.deepEqual(outcome, { outcome: "completed" });
    assert.match(text, /violet$/);
    const seen = sightOf(model.requests.at(-1)!).userTexts;
    assert.ok(seen.some((said) => said.includes("which colour?")), seen.join("\n"));
  }, allow);
});

testPrograms(["claude-code"], "cancels a prompt that waits for such a turn", async (program) => {
  await withProgram(program, async (scene) => {
    const { model, session, turn } = scene;
    const begun = Promise.withResolvers<void>();
    await startTask(program, {
      ...scene,
      model: {
        ...model,
        script: (...replies) =>
          model.script(...replies, () => {
            begun.resolve();
            return { kind: "hang", text: "the task" };
          }, { kind: "hang", text: "half" }),
      },
    });
    await begun.promise;
    const answered = turn("which colour?");
    await session.cancel();
    assert.deepEqual((await answered).outcome, { outcome: "cancelled" });
    model.forget();
    // The cancelled prompt may still send a request, which gets no answer.
    const reply = (request: ModelRequest): ModelReply =>
      sightOf(request).userTexts.at(-1)?.includes("still there?") === true
        ? { kind: "answer", text: "here" }
        : { kind: "hang", text: "" };
    model.script(reply, reply, reply);
    const next = await turn("still there?");
    assert.deepEqual(next.outcome, { outcome: "completed" });
    assert.match(next.text, /here$/);
  }, allow);
});
