/**
 * Faults that only codex can have, with the real program: trust in its workspace, input of running
 * commands, changes of files, several calls at once, and a thread that is resumed after a kill.
 *
 * @module
 */

import assert from "node:assert/strict";
import { withGatedProgram } from "tests/support/gated_program.ts";
import { sightOf } from "tests/support/model_sight.ts";
import { withProgram } from "tests/support/program_scene.ts";
import { fixtureServer } from "tests/support/runtime_process.ts";
import { programFile, programNamed, testPrograms } from "tests/support/runtime_programs.ts";
import { of } from "tests/support/runtime_scene.ts";
import type { PermissionAsk } from "units/dial/runtimes/acp_permission.ts";

const CODEX = programNamed("codex");
const test = (what: string, body: () => Promise<void>) => testPrograms(["codex"], what, body);
const run = (cmd: string, more: Readonly<Record<string, unknown>> = {}) => ({
  kind: "answer" as const,
  calls: [{ tool: "exec_command", arguments: { cmd, ...more } }],
});
const SAYS_OK = { kind: "answer" as const, text: "ok" };

test("has MCPs from fleetctl and the person, and none from its workspace", async () => {
  const asks: string[] = [];
  await withProgram(CODEX, async ({ home, model, turn, reports }) => {
    assert.deepEqual(reports.at(-1), [{ name: "fixture", state: "connected" }]);
    const mine = { tool: "mcp__mine__echo", arguments: { say: "hello" } };
    model.script(run(`touch ${home}/made`), { kind: "answer", calls: [mine] }, SAYS_OK);
    await turn("make a file");
    assert.deepEqual(asks, ["exec_command", "echo"]);
    for (const name of ["made", "planted"]) {
      await assert.rejects(Deno.stat(`${home}/${name}`), Deno.errors.NotFound);
    }
    const { tools } = sightOf(model.requests[0]!);
    for (const mcp of ["fixture", "mine"]) {
      assert.ok(tools.includes(`mcp__${mcp}__echo`), tools.join(" "));
    }
    // The program's own goal and agent tools are hidden.
    assert.deepEqual(tools.filter((tool) => /goal|agent/.test(tool)), []);
  }, {
    mcps: { fixture: fixtureServer() },
    workdir: async (home) => {
      const folder = `${home}/project`;
      await Deno.mkdir(`${folder}/.codex/rules`, { recursive: true });
      const planted = `[mcp_servers.planted]\ncommand = "touch"\nargs = ["${home}/planted"]\n`;
      await Deno.writeTextFile(`${folder}/.codex/config.toml`, planted);
      const rule = 'prefix_rule(pattern=["touch"], decision="allow")\n';
      await Deno.writeTextFile(`${folder}/.codex/rules/default.rules`, rule);
      const { command, args, env } = fixtureServer();
      const text = [
        "",
        `[projects."${folder}"]`,
        'trust_level = "trusted"',
        "[features]",
        "multi_agent = true",
        "[mcp_servers.mine]",
        `command = "${command}"`,
        `args = ${JSON.stringify(args)}`,
        `env = { DENO_DIR = "${env.DENO_DIR}" }`,
      ];
      await Deno.writeTextFile(`${home}/.codex/config.toml`, text.join("\n"), { append: true });
      return folder;
    },
    decidePermission: ({ tool }) => {
      asks.push(tool);
      return Promise.resolve({ decision: "deny", reason: "not here" });
    },
  });
});

test("runs no command that reads input later", async () => {
  await withProgram(CODEX, async ({ model, turn }) => {
    model.script(run("bash", { tty: true, yield_time_ms: 200 }), run("bash"), SAYS_OK);
    await turn("open a shell");
    const { results } = sightOf(model.requests.at(-1)!);
    assert.match(results[0]?.text ?? "", /TTY execution is disabled/);
    assert.match(results[1]?.text ?? "", /Process exited with code 0/);
  }, { decidePermission: () => Promise.resolve({ decision: "allow" }) });
});

test("requests approval for a change of files, and shows the change", async () => {
  const asks: PermissionAsk[] = [];
  await withProgram(CODEX, async ({ home, model, turn }) => {
    const patch = "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch";
    model.script(run(`apply_patch <<'EOF'\n${patch}\nEOF`), SAYS_OK);
    const { updates } = await turn("write a file");
    const changes = [{ path: `${home}/hello.txt`, kind: { type: "add" }, diff: "hello\n" }];
    assert.deepEqual(asks.map(({ tool, arguments: given }) => [tool, given]), [
      ["apply_patch", { changes }],
    ]);
    assert.deepEqual(of(updates, "tool_call").map(({ tool, arguments: given }) => [tool, given]), [
      ["apply_patch", { changes }],
    ]);
    assert.equal(await Deno.readTextFile(`${home}/hello.txt`), "hello\n");
  }, {
    decidePermission: (ask) => {
      asks.push(ask);
      return Promise.resolve({ decision: "allow" });
    },
  });
});

test("makes several MCP calls in one answer, and the blocked one is refused", async () => {
  await withGatedProgram(CODEX, async ({ model, executed, turn }) => {
    const call = (tool: string, n: number) => ({ tool: `mcp__bench__${tool}`, arguments: { n } });
    model.script(
      { kind: "answer", calls: [call("write", 1), call("look", 2), call("wipe", 3)] },
      SAYS_OK,
    );
    await turn("all at once", () => ({ decision: "approved" }));
    assert.deepEqual(executed.map(({ name }) => name).toSorted(), ["look", "write"]);
    const { results } = sightOf(model.requests.at(-1)!);
    assert.equal(results.length, 3);
    assert.match(results[2]?.text ?? "", /risk: block|unsupported call/);
  });
});

/** Returns the pids of processes below this one that run the file. */
async function childrenOf(file: string): Promise<readonly number[]> {
  const found: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const text = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    const status = await Deno.readTextFile(`/proc/${name}/status`).catch(() => "");
    const isOurs = /^PPid:\t(\d+)$/m.exec(status)?.[1] === String(Deno.pid);
    if (isOurs && text.split("\0")[0] === file) found.push(Number(name));
  }
  return found;
}

test("that is killed during an answer goes on with its history", async () => {
  await withProgram(CODEX, async ({ model, turn, restart }) => {
    model.script(SAYS_OK, { kind: "hang", text: "half an answer" });
    await turn("the first words");
    const { outcome } = await turn("the second words", async (update) => {
      if (update.kind !== "text_delta") return;
      for (const pid of await childrenOf(programFile(CODEX))) Deno.kill(pid, "SIGKILL");
    });
    assert.equal(outcome.code, "runtime-ended");
    model.forget();
    model.script(SAYS_OK);
    await restart();
    assert.deepEqual((await turn("and now?")).outcome, { outcome: "completed" });
    const { userTexts } = sightOf(model.requests.at(-1)!);
    for (const words of ["the first words", "the second words", "and now?"]) {
      assert.ok(userTexts.some((text) => text.includes(words)), userTexts.join(" | "));
    }
  });
});

test("that finds no folder for its state is not started, and says why", async () => {
  const started = withProgram(CODEX, () => Promise.resolve(), {
    furnish: async (home) => {
      await Deno.remove(`${home}/.codex`, { recursive: true });
      await Deno.writeTextFile(`${home}/.codex`, "");
      return {};
    },
  });
  await assert.rejects(started, /Cannot start runtime "codex": .*exit code 1.*\.codex/);
});

test("that is cancelled while a person is asked goes on", async () => {
  const asked = Promise.withResolvers<void>();
  await withProgram(CODEX, async ({ home, model, session, turn }) => {
    model.script(run(`touch ${home}/made`));
    const waiting = turn("make a file");
    await asked.promise;
    await session.cancel();
    assert.deepEqual((await waiting).outcome, { outcome: "cancelled" });
    await assert.rejects(Deno.stat(`${home}/made`), Deno.errors.NotFound);
    model.forget();
    model.script(SAYS_OK);
    assert.deepEqual((await turn("go on")).outcome, { outcome: "completed" });
  }, {
    decidePermission: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  });
});

test("runs commands in a sandbox that holds, and asks about what leaves it", async () => {
  const sandboxed = {
    ...CODEX,
    definition: () => ({ ...CODEX.definition(), sessionMode: "workspace-write" }),
  };
  const asks: PermissionAsk[] = [];
  await withProgram(sandboxed, async ({ home, model, turn }) => {
    const results = async (...calls: readonly ReturnType<typeof run>[]) => {
      model.forget();
      model.script(...calls, SAYS_OK);
      await turn("go");
      return sightOf(model.requests.at(-1)!).results.slice(-calls.length).map(({ text }) => text);
    };
    const [made = "", hook = "", patched = ""] = await results(
      run("touch made && echo fine"),
      run("mkdir -p .git/hooks"),
      run("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: in.txt\n+x\n*** End Patch\nEOF"),
    );
    assert.match(made, /fine/);
    assert.match(hook, /Read-only file system/);
    assert.match(patched, /Success/);
    assert.equal(asks.length, 0);
    const { tools } = sightOf(model.requests[0]!);
    assert.ok(!tools.includes("web_search"), tools.join(" "));

    await results(
      run("touch .git", { sandbox_permissions: "require_escalated", justification: "a repo" }),
      run(
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: .git/config\n+x\n*** End Patch\nEOF",
      ),
    );
    assert.deepEqual(asks.map(({ tool, act }) => [tool, act?.toolClass]), [
      ["exec_command", "command"],
      ["apply_patch", "edit"],
    ]);
    await assert.rejects(Deno.stat(`${home}/project/.git`), Deno.errors.NotFound);
  }, {
    ask: "outside",
    // The program sets up no sandbox when its own folder is below the temporary one.
    env: { TMPDIR: "/var/tmp" },
    workdir: async (home) => {
      await Deno.mkdir(`${home}/project`);
      return `${home}/project`;
    },
    decidePermission: (ask) => {
      asks.push(ask);
      return Promise.resolve({ decision: "deny", reason: "not here" });
    },
  });
});
