/**
 * The tokens that each real agent program reports equal those of the endpoint: over several calls
 * of one turn, over turns, after a cancel in the middle of a text, and after a restart that resumes
 * the conversation.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ModelReply } from "tests/fakes/model_endpoint.ts";
import { type ProgramTurn, withProgram } from "tests/support/program_scene.ts";
import { type RuntimeProgram, shellCall, wantedPrograms } from "tests/support/runtime_programs.ts";

/** Tokens of one model call, `n` times. */
function spent(n: number) {
  return { input: 100 * n, output: 10 * n, cachedRead: 1_000 * n, cachedWrite: 50 * n };
}

const answer = (n: number): ModelReply => ({ kind: "answer", text: "done", usage: spent(n) });

/** An answer that calls the program's own shell. */
function callsShell(program: RuntimeProgram, n: number): ModelReply {
  const { call } = shellCall(program, "true");
  return { kind: "answer", text: "let me see", calls: [call], usage: spent(n) };
}

/** The tokens that a turn reports as its last update; undefined when it reports none. */
function tokensOf({ updates }: ProgramTurn) {
  const last = updates.at(-1);
  if (last?.kind !== "usage") {
    assert.ok(updates.every(({ kind }) => kind !== "usage"));
    return undefined;
  }
  assert.equal(last.models.length, 1);
  const [of] = last.models;
  assert.ok(of !== undefined && of.model !== "unknown", JSON.stringify(last));
  const { inputTokens: input, outputTokens: output } = of;
  const { cachedReadTokens: cachedRead, cachedWriteTokens: cachedWrite } = of;
  return { ...(last.isPartial ? { isPartial: true } : {}), input, output, cachedRead, cachedWrite };
}

/** opencode counts the last call of a turn only, and cached writes as input. */
function asOpencode(n: number) {
  const { input, output, cachedRead, cachedWrite } = spent(n);
  return { isPartial: true, input: input + cachedWrite, output, cachedRead, cachedWrite: 0 };
}

for (const program of wantedPrograms()) {
  const isLastCallOnly = program.name === "opencode";
  const wanted = (calls: readonly number[]) =>
    isLastCallOnly
      ? asOpencode(calls.at(-1) ?? 0)
      : spent(calls.reduce((sum, call) => sum + call, 0));

  Deno.test(`${program.name} reports the tokens of a turn`, async () => {
    await withProgram(program, async ({ model, session, turn, restart }) => {
      model.script(callsShell(program, 1), answer(2));
      assert.deepEqual(tokensOf(await turn("first")), wanted([1, 2]));
      model.script(answer(5));
      assert.deepEqual(tokensOf(await turn("second")), wanted([5]));
      await session.close(10_000);
      await restart();
      model.script(answer(3));
      assert.deepEqual(tokensOf(await turn("after a restart")), wanted([3]));
    }, { decidePermission: () => Promise.resolve({ decision: "allow" }) });
  });

  Deno.test(`${program.name} does not count a call that was cut`, async () => {
    await withProgram(program, async ({ model, session, turn }) => {
      const hangs: ModelReply = { kind: "hang", text: "thinking about it" };
      const cancelled = () =>
        turn("think", (update) => {
          if (update.kind === "text_delta" && update.text.startsWith("thinking")) {
            void session.cancel();
          }
        });
      model.script(hangs);
      const alone = await cancelled();
      assert.equal(alone.outcome.outcome, "cancelled");
      assert.equal(tokensOf(alone), undefined);
      model.script(callsShell(program, 1), hangs);
      const second = await cancelled();
      assert.equal(second.outcome.outcome, "cancelled");
      const first = { isPartial: true, ...spent(1) };
      assert.deepEqual(tokensOf(second), isLastCallOnly ? undefined : first);
      model.script(answer(2));
      assert.deepEqual(tokensOf(await turn("go on")), wanted([2]));
    }, { decidePermission: () => Promise.resolve({ decision: "allow" }) });
  });
}
