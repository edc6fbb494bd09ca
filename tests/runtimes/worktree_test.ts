/**
 * Each real agent program works in the worktree of its conversation: its commands run there, and a
 * restart keeps the history.
 *
 * @module
 */

import assert from "node:assert/strict";
import { sightOf } from "tests/support/model_sight.ts";
import { type ProgramScene, withProgram } from "tests/support/program_scene.ts";
import { type RuntimeProgram, shellCall, wantedPrograms } from "tests/support/runtime_programs.ts";

/** Lets the model run `pwd`; returns the result that it reads. */
async function workingFolder(
  { model, turn }: ProgramScene,
  program: RuntimeProgram,
): Promise<string> {
  const { call } = shellCall(program, "pwd");
  model.script({ kind: "answer", calls: [call] }, { kind: "answer", text: "done" });
  assert.deepEqual((await turn("where are you?")).outcome, { outcome: "completed" });
  const last = model.requests.at(-1);
  assert.ok(last !== undefined);
  return sightOf(last).results.at(-1)?.text ?? "";
}

for (const program of wantedPrograms()) {
  Deno.test(`${program.name} works in the worktree of its conversation`, async () => {
    const git = async (folder: string, args: readonly string[]) => {
      const identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
      const { success } = await new Deno.Command("git", {
        args: ["-C", folder, ...identity, ...args],
      }).output();
      assert.ok(success, args.join(" "));
    };
    await withProgram(program, async (scene) => {
      const { model, turn, restart, end, home } = scene;
      const folder = `${home}/project/.fleetctl/worktrees/trip`;
      await end();
      await restart("trip", folder);
      assert.match(await workingFolder(scene, program), /\/worktrees\/trip\b/);
      await end();
      await restart("trip", folder);
      model.script({ kind: "answer", text: "yes" });
      assert.deepEqual((await turn("still there?")).outcome, { outcome: "completed" });
      const last = model.requests.at(-1);
      assert.ok(last !== undefined);
      assert.ok(sightOf(last).userTexts.some((text) => text.includes("where are you?")));
    }, {
      decidePermission: () => Promise.resolve({ decision: "allow" }),
      workdir: async (home) => {
        const project = `${home}/project`;
        await Deno.mkdir(project);
        await git(project, ["init", "--quiet"]);
        await git(project, ["commit", "--quiet", "--allow-empty", "--message", "first"]);
        await git(project, ["worktree", "add", "--quiet", ".fleetctl/worktrees/trip"]);
        return project;
      },
    });
  });
}
