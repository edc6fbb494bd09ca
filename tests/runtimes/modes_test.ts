/**
 * The modes with each real agent program behind the dial unit: what passes, what asks, and that the
 * model reads why something was denied. The gate of an MCP holds in every mode.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import { type GatedScene, withGatedProgram } from "tests/support/gated_program.ts";
import { sightOf } from "tests/support/model_sight.ts";
import { withProgram } from "tests/support/program_scene.ts";
import {
  type RuntimeProgram,
  shellCall,
  testPrograms,
  wantedPrograms,
} from "tests/support/runtime_programs.ts";

const REASON = "not while the moon is full";

/** Runs a turn in which the model makes one call; returns the tools that asked a person. */
async function asksAbout(
  { model, turn }: GatedScene,
  call: { readonly tool: string; readonly arguments: unknown },
  decision: "approved" | "denied",
): Promise<readonly string[]> {
  model.forget();
  model.script({ kind: "answer", calls: [call] }, { kind: "answer", text: "done" });
  const events = await turn("go", () => ({ decision, reason: REASON }));
  return events.filter(({ kind }) => kind === "approval_asked").map(({ payload }) => payload.tool);
}

const exists = (path: string) => Deno.stat(path).then(() => true, () => false);

/** Checks that the model has read the reason, at the latest with the next turn. */
async function readsTheReason({ model, turn }: GatedScene): Promise<void> {
  const seen = model.requests.flatMap((request) => {
    const { results, userTexts } = sightOf(request);
    return [...results.map(({ text }) => text), ...userTexts];
  });
  if (seen.some((text) => text.includes(REASON))) return;
  model.forget();
  model.script({ kind: "answer", text: "I see" });
  await turn("and now?");
  const { userTexts } = sightOf(model.requests.at(-1)!);
  assert.ok(userTexts.some((text) => text.includes(REASON)), userTexts.join(" | "));
}

for (const program of wantedPrograms()) {
  Deno.test(`${program.name} in mode outside asks about what leaves the workspace`, async () => {
    await withGatedProgram(program, async (scene) => {
      const { home, workspace } = scene;
      await Deno.symlink(home, `${workspace}/link`);

      assert.deepEqual(await asksAbout(scene, program.writeCall(`${workspace}/in`), "denied"), []);
      assert.ok(await exists(`${workspace}/in`));

      for (const path of [`${home}/out`, `${workspace}/link/out`, `${workspace}/.envrc`]) {
        const asked = await asksAbout(scene, program.writeCall(path), "denied");
        assert.ok(asked.length > 0, path);
        assert.ok(!await exists(path), path);
        await readsTheReason(scene);
      }

      for (const decision of ["denied", "approved"] as const) {
        const { call } = shellCall(program, `touch ${workspace}/made`);
        assert.deepEqual(await asksAbout(scene, call, decision), [program.shell]);
        assert.equal(await exists(`${workspace}/made`), decision === "approved");
        if (decision === "denied") await readsTheReason(scene);
      }
    }, { ask: "outside" });
  });

  Deno.test(`${program.name} in mode never asks only for an MCP that is marked`, async () => {
    await withGatedProgram(program, async (scene) => {
      const { home, executed } = scene;
      const { call } = shellCall(program, `touch ${home}/made`);
      assert.deepEqual(await asksAbout(scene, call, "denied"), []);
      assert.ok(await exists(`${home}/made`));
      assert.deepEqual(await asksAbout(scene, program.writeCall(`${home}/out`), "denied"), []);
      assert.ok(await exists(`${home}/out`));

      const marked = { tool: program.toolName("bench", "write"), arguments: { text: "a" } };
      assert.deepEqual(await asksAbout(scene, marked, "denied"), ["write"]);
      assert.deepEqual(executed, []);
    }, { ask: "never" });
  });

  Deno.test(`${program.name} in mode changes asks about every command and edit`, async () => {
    await withGatedProgram(program, async (scene) => {
      const { workspace } = scene;
      const path = `${workspace}/in`;
      const asked = await asksAbout(scene, program.writeCall(path), "denied");
      assert.equal(asked.length, 1);
      assert.ok(!await exists(path));
      // A command that only reads: some programs allow it by themselves.
      const { call } = shellCall(program, "echo hello");
      assert.deepEqual(await asksAbout(scene, call, "approved"), [program.shell]);
    }, { ask: "changes" });
  });
}

const CLAUDES = ["claude-code", "claude-agent-acp"];

/** Runs calls one by one in the folder `project` of the home; returns the tools that asked. */
async function askedIn(
  program: RuntimeProgram,
  mode: "outside" | undefined,
  calls: (home: string) => readonly { readonly tool: string; readonly arguments: unknown }[],
): Promise<readonly string[]> {
  const asked: string[] = [];
  await withProgram(program, async ({ home, model, turn }) => {
    for (const call of calls(home)) {
      model.forget();
      model.script({ kind: "answer", calls: [call] }, { kind: "answer", text: "done" });
      await turn("go");
    }
  }, {
    ...defined({ ask: mode }),
    furnish: async (home) => {
      await Deno.mkdir(`${home}/.claude`, { recursive: true });
      const permissions = { allow: ["Bash", "Write", "Read"], defaultMode: "acceptEdits" };
      await Deno.writeTextFile(`${home}/.claude/settings.json`, JSON.stringify({ permissions }));
      await Deno.writeTextFile(`${home}/keys`, "secret\n");
      return {};
    },
    workdir: async (home) => {
      await Deno.mkdir(`${home}/project`);
      return `${home}/project`;
    },
    decidePermission: ({ tool }) => {
      asked.push(tool);
      return Promise.resolve({ decision: "deny", reason: REASON });
    },
  });
  return asked;
}

testPrograms(
  CLAUDES,
  "asks although the agent's own settings allow everything",
  async (program) => {
    const calls = (home: string) => [
      shellCall(program, `touch ${home}/made`).call,
      program.writeCall(`${home}/project/a`),
      { tool: "Read", arguments: { file_path: `${home}/keys` } },
    ];
    assert.deepEqual(await askedIn(program, "outside", calls), ["Bash", "Write", "Read"]);
  },
);

testPrograms(["pi"], "asks about reads only with a mode in the record", async (program) => {
  const calls = (home: string) => [{ tool: "read", arguments: { path: `${home}/keys` } }];
  assert.deepEqual(await askedIn(program, undefined, calls), []);
  assert.deepEqual(await askedIn(program, "outside", calls), ["read"]);
});
