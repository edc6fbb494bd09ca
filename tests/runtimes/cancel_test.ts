/**
 * Cancel with each real agent program: in the middle of an answer, and while a question to a person
 * is pending.
 *
 * @module
 */

import assert from "node:assert/strict";
import { sightOf } from "tests/support/model_sight.ts";
import { withProgram } from "tests/support/program_scene.ts";
import { wantedPrograms } from "tests/support/runtime_programs.ts";

for (const program of wantedPrograms()) {
  Deno.test(`${program.name} ends a cancelled turn as cancelled, and continues`, async () => {
    await withProgram(program, async ({ model, session, turn }) => {
      model.script({ kind: "hang", text: "half an answer" });
      const { outcome } = await turn("say something", (update) => {
        if (update.kind === "text_delta") void session.cancel();
      });
      assert.deepEqual(outcome, { outcome: "cancelled" });
      model.forget();
      model.script({ kind: "answer", text: "the rest" });
      const next = await turn("go on");
      assert.deepEqual(next.outcome, { outcome: "completed" });
      assert.ok(next.text.includes("the rest"));
      const seen = sightOf(model.requests.at(-1)!).userTexts;
      assert.ok(seen.some((text) => text.includes("say something")), "the history is kept");
    });
  });
}
