/**
 * Faults with each real agent program: a key that the endpoint does not accept, a home that cannot
 * be written, several calls at once, and a kill in the middle of an answer.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ModelReply } from "tests/fakes/model_endpoint.ts";
import { withGatedProgram } from "tests/support/gated_program.ts";
import { sightOf } from "tests/support/model_sight.ts";
import { processesOf } from "tests/support/processes_of.ts";
import { withProgram } from "tests/support/program_scene.ts";
import {
  programFile,
  type RuntimeProgram,
  testPrograms,
  wantedPrograms,
} from "tests/support/runtime_programs.ts";

/** Each endpoint's own refusal of a key. */
const REFUSED_KEY: ModelReply = {
  kind: "status",
  status: 401,
  body: {
    type: "error",
    error: {
      type: "authentication_error",
      code: "invalid_api_key",
      message: "Incorrect API key provided",
    },
  },
};
/** Requests to the model in a turn whose key is refused: the first one and a few tries. */
const TRIES_MAX = 6;

testPrograms(
  ["claude-code", "pi", "codex", "opencode"],
  "says how to renew a key that the endpoint refuses",
  async (program) => {
    await withProgram(program, async ({ model, turn }) => {
      model.script(...Array<ModelReply>(TRIES_MAX + 1).fill(REFUSED_KEY));
      const { outcome } = await turn("the colour is violet");
      assert.deepEqual([outcome.outcome, outcome.code], ["failed", "model-unauthorized"]);
      const command = program.definition().signIn?.replace("{agent}", "ada");
      assert.ok(command !== undefined && outcome.reason?.endsWith(`; run: ${command}`));
      assert.ok(model.requests.length <= TRIES_MAX, `${model.requests.length} requests`);
      model.forget();
      model.script({ kind: "answer", text: "it works" });
      const next = await turn("which colour?");
      assert.deepEqual([next.outcome.outcome, next.text], ["completed", "it works"]);
      const { userTexts } = sightOf(model.requests.at(-1)!);
      assert.ok(
        userTexts.some((text) => text.includes("the colour is violet")),
        "the turn is kept",
      );
    });
  },
);

for (const program of wantedPrograms()) {
  Deno.test(`${program.name} asks about each of several calls`, async () => {
    await withGatedProgram(program, async ({ model, executed, turnWith }) => {
      const tool = (name: string) => program.toolName("bench", name);
      const calls = [
        { tool: tool("write"), arguments: { text: "first" } },
        { tool: tool("look"), arguments: { n: 2 } },
        { tool: tool("write"), arguments: { text: "third" } },
      ];
      model.script({ kind: "answer", calls }, { kind: "answer", text: "done" });
      const asked: unknown[] = [];
      await turnWith("do all", {
        decide: ({ arguments: given }) => {
          asked.push(given.text);
          const isFirst = given.text === "first";
          return isFirst
            ? { decision: "approved" }
            : { decision: "denied", reason: "one is enough" };
        },
      });
      assert.deepEqual(asked.toSorted(), ["first", "third"]);
      assert.deepEqual(
        executed.map((call) => JSON.stringify(call.arguments)).sort(),
        ['{"n":2}', '{"text":"first"}'],
      );
      const { results } = sightOf(model.requests.at(-1)!);
      assert.equal(results.length, 3);
      for (const [index, wanted] of [/"first"/, /"n":2/, /denied it: one is enough/].entries()) {
        assert.match(results[index]?.text ?? "", wanted);
      }
    });
  });

  Deno.test(`${program.name} that is killed in an answer resumes with its history`, async () => {
    await withProgram(program, async ({ model, home, turn, session, restart }) => {
      model.script({ kind: "answer", text: "noted" });
      assert.deepEqual((await turn("the colour is violet")).outcome, { outcome: "completed" });
      await untilWritten(home, "the colour is violet");
      model.script({ kind: "hang", text: "half an answer" });
      let arrived = "";
      const { outcome, text } = await turn("the number is seven", async (update) => {
        if (update.kind === "text_delta") arrived += update.text;
        // The text arrives in pieces.
        if (update.kind !== "text_delta" || arrived !== "half an answer") return;
        for (const line of await processesOf(home)) Deno.kill(Number.parseInt(line), "SIGKILL");
      });
      assert.deepEqual([outcome.outcome, outcome.code], ["interrupted", "runtime-ended"]);
      assert.equal(text, "half an answer");
      await session.ended;
      await restart();
      model.forget();
      model.script({ kind: "answer", text: "violet" });
      assert.deepEqual((await turn("which colour?")).outcome, { outcome: "completed" });
      const { userTexts } = sightOf(model.requests.at(-1)!);
      // Claude Code writes a prompt to disk only some time after it has begun to work on it.
      const isLost = program.name.startsWith("claude");
      for (const said of ["the colour is violet", ...isLost ? [] : ["the number is seven"]]) {
        assert.ok(userTexts.some((each) => each.includes(said)), userTexts.join("\n"));
      }
    });
  });
}

/** Waits until the program has written a text to disk: it may do so after the end of its turn. */
async function untilWritten(home: string, text: string): Promise<void> {
  const { success } = await new Deno.Command("timeout", {
    args: ["20", "sh", "-c", 'until grep -rqsF -- "$0" "$1"; do :; done', text, home],
  }).output();
  assert.ok(success, `"${text}" is in no file below ${home}`);
}

/** Starts the program with a home that it cannot write; fleetctl itself can. */
const READ_ONLY = [
  "--map-root-user",
  "--mount",
  "sh",
  "-c",
  'mount --bind "$HOME" "$HOME" && mount -o remount,bind,ro "$HOME" && exec "$0" "$@"',
];
const readOnlyHome = (program: RuntimeProgram) => ({
  definition: {
    command: "/usr/bin/unshare",
    args: [...READ_ONLY, programFile(program), ...program.definition().args],
  },
});

testPrograms(
  ["pi", "codex", "opencode"],
  "does not start in a home that it cannot write, and says why",
  async (program) => {
    await assert.rejects(
      withProgram(program, () => Promise.resolve(), readOnlyHome(program)),
      /^Error: Cannot start runtime ".*exit code 1; last lines: .*(mkdir|EROFS|unable to open)/s,
    );
  },
);

testPrograms(
  ["claude-code", "claude-agent-acp"],
  "answers in a home that it cannot write",
  async (program) => {
    await withProgram(program, async ({ model, turn }) => {
      model.script({ kind: "answer", text: "hello" });
      const { outcome, text } = await turn("say hello");
      assert.deepEqual([outcome.outcome, text], ["completed", "hello"]);
    }, readOnlyHome(program));
  },
);
