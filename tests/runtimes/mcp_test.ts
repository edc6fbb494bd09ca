/**
 * The MCPs of an agent with each real agent program: the model sees their tools from the first
 * turn, in whichever folder the program works.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import { parseDefinition } from "core/runtimes/definition.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import { sightOf } from "tests/support/model_sight.ts";
import { TREE } from "tests/support/module_graph.ts";
import { withProgram } from "tests/support/program_scene.ts";
import { fixtureServer, inHome } from "tests/support/runtime_process.ts";
import {
  programNamed,
  type RuntimeProgram,
  testPrograms,
  wantedPrograms,
} from "tests/support/runtime_programs.ts";
import { of } from "tests/support/runtime_scene.ts";

/** Returns a folder of a worktree: some programs look for their MCPs under the main repository. */
async function worktree(home: string): Promise<string> {
  const git = async (...args: readonly string[]) => {
    const who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    const { success } = await new Deno.Command("git", { args: [...who, ...args] }).output();
    assert.ok(success, args.join(" "));
  };
  const repo = `${home}/repo`;
  await git("init", "-q", repo);
  await git("-C", repo, "commit", "-q", "--allow-empty", "-m", "first");
  await git("-C", repo, "worktree", "add", "-q", `${home}/tree`);
  await Deno.mkdir(`${home}/tree/part`);
  return `${home}/tree/part`;
}

const PLACES = { "its home": undefined, "a folder of a worktree": worktree };

for (const program of wantedPrograms()) {
  for (const [place, workdir] of Object.entries(PLACES)) {
    Deno.test(`${program.name} in ${place} has its MCPs in its first turn`, async () => {
      await withProgram(program, async ({ model, turn }) => {
        model.script({ kind: "answer", text: "ok" });
        assert.deepEqual((await turn("say something")).outcome, { outcome: "completed" });
        const [first] = model.requests;
        assert.ok(first !== undefined);
        assert.ok(sightOf(first).tools.includes(program.toolName("fixture", "echo")));
      }, { mcps: { fixture: fixtureServer() }, ...defined({ workdir }) });
    });
  }
}

testPrograms(
  ["pi"],
  "declares the tools that its exposure names, and keeps the rest for scripts",
  async (pi) => {
    const toolExposure = { echo: "direct", hidden: "hidden" };
    const fixture = { ...fixtureServer(), exposure: "codemode", toolExposure };
    await withProgram(pi, async ({ model, turn }) => {
      model.script({ kind: "answer", text: "ok" });
      await turn("say something");
      const { tools } = sightOf(model.requests[0]!);
      assert.deepEqual(tools.filter((name) => name.startsWith("mcp__")), ["mcp__fixture__echo"]);
      assert.ok(tools.includes("codemode"), tools.join(", "));
    }, { mcps: { fixture } });
  },
);

/** Programs that report the start progress of their MCPs. */
const TELLING = ["claude-code", "codex"];

/** A program that waits for a line before it becomes the fixture server. */
async function slowServer(home: string) {
  const gate = `${home}/gate`;
  const { success } = await new Deno.Command("mkfifo", { args: [gate] }).output();
  assert.ok(success);
  const { command, args, env } = fixtureServer();
  return {
    entry: { command: "sh", args: ["-c", 'read _ <"$0"; exec "$@"', gate, command, ...args], env },
    /** Resolves once the program has started the server, and lets it continue. */
    release: () => Deno.writeTextFile(gate, "\n"),
  };
}

testPrograms(TELLING, "waits for an MCP that is slow to start", async (program) => {
  await inHome(async (folder) => {
    const { entry, release } = await slowServer(folder);
    const released = release();
    await withProgram(program, async ({ model, turn, reports }) => {
      await released;
      assert.deepEqual(reports.at(-1), [{ name: "fixture", state: "connected" }]);
      model.script({ kind: "answer", text: "ok" });
      const { updates } = await turn("say something");
      assert.ok(sightOf(model.requests[0]!).tools.includes(program.toolName("fixture", "echo")));
      assert.deepEqual(of(updates, "notice"), []);
    }, { mcps: { fixture: entry } });
  });
});

testPrograms(
  TELLING,
  "names the MCP that it lacks in the turn, and has the others",
  async (program) => {
    const mcps = { fixture: fixtureServer(), broken: { command: "false" } };
    await withProgram(program, async ({ model, turn, reports }) => {
      assert.deepEqual(reports.at(-1), [
        { name: "fixture", state: "connected" },
        { name: "broken", state: "failed" },
      ]);
      model.script({ kind: "answer", text: "ok" }, { kind: "answer", text: "ok" });
      const { updates } = await turn("say something");
      assert.ok(sightOf(model.requests[0]!).tools.includes(program.toolName("fixture", "echo")));
      assert.deepEqual(of(updates, "notice").map(({ text }) => text), [
        "Without these MCPs: broken (failed to connect)",
      ]);
      assert.deepEqual(of((await turn("again")).updates, "notice"), []);
    }, { mcps });
  },
);

/** Claude Code as `runtime-a`, by the host's file of docs/runtime.md. */
async function asRuntimeA(): Promise<RuntimeProgram> {
  const page = await Deno.readTextFile(`${TREE}docs/runtime.md`);
  const [, text = ""] = /^```yaml\n# \S+\/runtime-a\.yaml\n([^]*?)^```$/m.exec(page) ?? [];
  const parsed = parseDefinition(text, "runtime-a.yaml", shippedDefinitions().get("runtime-a"));
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return { ...programNamed("claude-code"), definition: () => parsed.value };
}

testPrograms(["claude-code"], "as runtime-a has the MCPs of ~/.runtime-a.json", async () => {
  const mcps = { fixture: fixtureServer() };
  await withProgram(await asRuntimeA(), async ({ home, model, turn, reports }) => {
    const config = JSON.parse(await Deno.readTextFile(`${home}/.runtime-a.json`));
    assert.deepEqual(Object.keys(config.projects[home].mcpServers), ["fixture"]);
    assert.deepEqual(reports.at(-1), [{ name: "fixture", state: "connected" }]);
    model.script({ kind: "answer", text: "ok" });
    await turn("say something");
    assert.ok(sightOf(model.requests[0]!).tools.includes("mcp__fixture__echo"));
  }, { mcps, workdir: worktree });
});
