/**
 * One turn with each real agent program: it starts as its definition states, calls the configured
 * endpoint, and its answer arrives.
 *
 * @module
 */

import assert from "node:assert/strict";
import { sightOf } from "tests/support/model_sight.ts";
import { withProgram } from "tests/support/program_scene.ts";
import {
  pinnedVersion,
  programFile,
  programPath,
  wantedPrograms,
} from "tests/support/runtime_programs.ts";

for (const program of wantedPrograms()) {
  Deno.test(`${program.name} is installed at the pinned version`, async () => {
    const { stdout } = await new Deno.Command(programFile(program), {
      args: ["--version"],
      env: { PATH: programPath(program) },
    }).output();
    const printed = new TextDecoder().decode(stdout);
    assert.ok(printed.includes(await pinnedVersion(program)), printed);
  });

  Deno.test(`${program.name} reports its version, if its protocol has one`, async () => {
    const shown = program.name === "pi"
      ? []
      : [`Version ${await pinnedVersion(program)} of ${program.name} is not tested (tested: 0)`];
    await withProgram(program, async ({ model, turn }) => {
      model.script({ kind: "answer", text: "yes" });
      const { outcome, updates } = await turn("say something");
      assert.deepEqual(outcome, { outcome: "completed" });
      assert.deepEqual(updates.flatMap((each) => each.kind === "notice" ? [each.text] : []), shown);
    }, { definition: { known: ["0"] } });
  });

  Deno.test(`${program.name} runs a turn against the scripted model`, async () => {
    await withProgram(program, async ({ model, turn }) => {
      model.script({ kind: "answer", text: "The quick brown fox jumps over the lazy dog." });
      const { outcome, text } = await turn("say something");
      assert.deepEqual(outcome, { outcome: "completed" });
      assert.equal(text, "The quick brown fox jumps over the lazy dog.");
      const [first] = model.requests;
      assert.ok(first !== undefined);
      assert.ok(sightOf(first).userTexts.some((each) => each.includes("say something")));
    });
  });

  Deno.test(`${program.name} has its conversation after a planned restart`, async () => {
    await withProgram(program, async ({ model, turn, session, restart }) => {
      model.script({ kind: "answer", text: "noted" }, { kind: "answer", text: "violet" });
      assert.deepEqual((await turn("the colour is violet")).outcome, { outcome: "completed" });
      await session.close(10_000);
      assert.match(await session.ended, /^the runtime ended with exit code 0/);
      await restart();
      assert.deepEqual((await turn("which colour?")).outcome, { outcome: "completed" });
      const last = model.requests.at(-1);
      assert.ok(last !== undefined);
      const texts = sightOf(last).userTexts;
      assert.ok(texts.some((each) => each.includes("the colour is violet")), texts.join("\n"));
    });
  });

  Deno.test(`${program.name} keeps two conversations apart`, async () => {
    await withProgram(program, async ({ model, turn, restart, end }) => {
      const seen = async (text: string) => {
        model.script({ kind: "answer", text: `re ${text}` });
        assert.deepEqual((await turn(text)).outcome, { outcome: "completed" });
        const last = model.requests.at(-1);
        assert.ok(last !== undefined);
        const all = sightOf(last).userTexts.join("\n");
        return ["amber one", "blue one", "amber two"].filter((each) => all.includes(each));
      };
      assert.deepEqual(await seen("amber one"), ["amber one"]);
      await end();
      await restart("b");
      assert.deepEqual(await seen("blue one"), ["blue one"]);
      await end();
      await restart();
      assert.deepEqual(await seen("amber two"), ["amber one", "amber two"]);
    });
  });
}
