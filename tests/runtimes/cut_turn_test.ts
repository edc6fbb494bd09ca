/**
 * A kill of each real agent program in an open call. No program says that the outcome of such a
 * call is unknown, so the model reads it before its next turn, and the person sees a notice.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type GatedEvent, type GatedScene, withGatedProgram } from "tests/support/gated_program.ts";
import { echoServer } from "tests/support/mcp_proxy.ts";
import { sightOf } from "tests/support/model_sight.ts";
import { wantedPrograms } from "tests/support/runtime_programs.ts";

for (const program of wantedPrograms()) {
  Deno.test(`${program.name} killed in a call learns what is unknown`, async () => {
    let scene: GatedScene | undefined;
    await withGatedProgram(program, async (given) => {
      scene = given;
      const { model, executed, turnWith, turn } = given;
      const calls = [{ tool: program.toolName("bench", "look"), arguments: { n: 13 } }];
      model.script({ kind: "answer", calls });
      const events = await turnWith("look", { ends: "interrupted" });
      assert.match(noticeOf(events), /bench \/ look \([^)]+\): outcome unknown: /);
      assert.deepEqual(await notesOfNextTurn(given), [{
        said: true,
        call: '{"n":13}: outcome unknown: the turn ended while this call ran]',
      }]);
      assert.equal(executed.length, 1, "the call is not repeated");
      model.forget();
      model.script({ kind: "answer", text: "fine" });
      await turn("go on");
      const last = sightOf(model.requests.at(-1)!).userTexts.at(-1) ?? "";
      assert.ok(!last.includes("[interrupted: "), last);
    }, {
      behavior: async (message, connection) => {
        if (message.method !== "tools/call") return await echoServer(message, connection);
        await scene?.killProgram();
      },
    });
  });

  Deno.test(`${program.name} killed in an approval learns what was not made`, async () => {
    await withGatedProgram(program, async (scene) => {
      const { model, executed, turnWith, killProgram } = scene;
      const calls = [{ tool: program.toolName("bench", "write"), arguments: { text: "x" } }];
      model.script({ kind: "answer", calls });
      let killed: Promise<void> | undefined;
      const events = await turnWith("write", {
        ends: "interrupted",
        decide: () => {
          killed = killProgram();
          return undefined;
        },
      });
      await killed;
      const ended = events.find(({ kind }) => kind === "approval_ended");
      assert.equal(ended?.payload.state, "superseded");
      assert.match(noticeOf(events), /bench \/ write \([^)]+\): not made: /);
      assert.deepEqual(await notesOfNextTurn(scene), [{
        said: true,
        call: '{"text":"x"}: not made: the turn ended while it waited for an approval]',
      }]);
      assert.deepEqual(executed, []);
    });
  });
}

function noticeOf(events: readonly GatedEvent[]): string {
  const notices = events.filter(({ kind }) => kind === "notice");
  return notices.map(({ payload }) => payload.text).join("\n");
}

/** Runs a turn; returns the notes that its request to the model contains. */
async function notesOfNextTurn({ model, turn }: Pick<GatedScene, "model" | "turn">) {
  model.forget();
  model.script({ kind: "answer", text: "I check first" });
  await turn("what happened?");
  const texts = sightOf(model.requests.at(-1)!).userTexts;
  const notes = texts.flatMap((text) => text.split("\n")).filter((line) =>
    line.startsWith("[interrupted: bench / ")
  );
  return notes.map((line) => ({
    said: texts.some((text) => text.includes(line) && text.includes("what happened?")),
    call: line.replace(/^.*?\) /, ""),
  }));
}
