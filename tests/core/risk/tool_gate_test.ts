/**
 * The runtime's own gate: commands of `bash`, and MCPs that are reached by URL.
 *
 * @module
 */

import assert from "node:assert/strict";
import { refusal } from "core/errors.ts";
import { ASK_MODES, type AskMode } from "core/ledger/agent.ts";
import { pathsUnder } from "core/paths.ts";
import type { ToolCall } from "core/risk/call.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { toolGate } from "units/agent_loop/tool_gate.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";

const PATHS = pathsUnder("/");
const ADA = { agent: "ada", runtime: "runtime-b", mode: "never", paths: PATHS } as const;
const SIGNAL = new AbortController().signal;

function tool(of: Pick<Tool, "mcp" | "tool" | "kind">): Tool & { readonly runs: unknown[] } {
  const runs: unknown[] = [];
  return {
    ...of,
    runs,
    name: of.tool,
    description: "",
    inputSchema: { type: "object" },
    isConcurrent: false,
    run: (input) => {
      runs.push(input);
      return Promise.resolve({ status: "completed", text: "done" });
    },
  };
}

async function bench(rules?: unknown) {
  const files = memoryFiles();
  await files.ensureDir("/etc/fleetctl/gate", { mode: 0o755 });
  const write = (value: unknown) =>
    files.write(PATHS.gate("git"), JSON.stringify(value), { mode: 0o644 });
  if (rules !== undefined) await write({ mcp: "git", version: "1", rules });
  const gate = toolGate({ ...ADA, files, byUrl: new Set(["git"]) });
  return { gate, write, files };
}

Deno.test("toolGate() refuses only commands that reach a blocked tool", async () => {
  const { gate } = await bench({ git_clean: "block", git_push: "ask" });
  const bash = tool({ mcp: undefined, tool: "bash", kind: "execute" });
  const run = (command: unknown) => gate(bash, undefined).run({ command }, SIGNAL);
  const blocked = await run("cd /srv && fleetctl mcp call git git_clean");
  assert.equal(blocked.status, "denied");
  assert.match(blocked.text, /reaches tool "git_clean" of MCP "git"/);
  assert.equal(bash.runs.length, 0);
  for (const command of ["ls", "git push", "fleetctl mcp call git git_push", 7]) {
    assert.equal((await run(command)).status, "completed", String(command));
  }
});

Deno.test("toolGate() reads the rules again after a change", async () => {
  const { gate, write } = await bench({});
  const bash = tool({ mcp: undefined, tool: "bash", kind: "execute" });
  const gated = gate(bash, undefined);
  const command = { command: "fleetctl mcp read git git_clean" };
  assert.equal((await gated.run(command, SIGNAL)).status, "completed");
  await write({ mcp: "git", version: "1", rules: { git_clean: "block" } });
  assert.equal((await gated.run(command, SIGNAL)).status, "denied");
});

Deno.test("toolGate() decides about tools by URL and leaves others to the proxy", async () => {
  const { gate, write } = await bench({ git_clean: "block", git_push: "ask" });
  for (
    const [name, mcp, want] of [
      ["git_clean", "git", "denied"],
      ["git_push", "git", "denied"],
      ["git_log", "git", "completed"],
      ["git_clean", "other", "completed"],
    ] as const
  ) {
    const each = tool({ mcp, tool: name, kind: "other" });
    assert.equal((await gate(each, undefined).run({}, SIGNAL)).status, want, name);
  }
  await write("not a gate");
  const each = tool({ mcp: "git", tool: "git_log", kind: "other" });
  assert.match((await gate(each, undefined).run({}, SIGNAL)).text, /permission gate/);
});

Deno.test("toolGate() refuses a tool reached by URL while its gate file is missing", async () => {
  const { gate } = await bench();
  const each = tool({ mcp: "git", tool: "git_clean", kind: "other" });
  const refused = await gate(each, undefined).run({}, SIGNAL);
  assert.equal(refused.status, "denied");
  assert.match(refused.text, /permission gate is missing, so every call is refused/);
  assert.equal(each.runs.length, 0);
});

Deno.test("toolGate() ends a wait for approval when the turn is cancelled", async () => {
  const { files } = await bench({ git_push: "ask" });
  const asked = Promise.withResolvers<void>();
  const gate = toolGate({
    ...ADA,
    files,
    byUrl: new Set(["git"]),
    ask: (_call, { signal }) =>
      new Promise((resolve) => {
        asked.resolve();
        const lost = refusal("approval-lost", "The question was withdrawn");
        signal.addEventListener("abort", () => resolve({ ok: false, error: lost }));
      }),
  });
  const each = tool({ mcp: "git", tool: "git_push", kind: "other" });
  const turn = new AbortController();
  const running = gate(each, undefined).run({}, turn.signal);
  await asked.promise;
  turn.abort();
  assert.deepEqual(await running, {
    status: "stopped",
    text: "[cancelled while it waited for approval]",
  });
  assert.equal(each.runs.length, 0);
});

/** A scene with a mode: what asks, and what the person is shown. */
async function modeBench(mode: AskMode) {
  const files = memoryFiles({ "/home/ada/ws/a.txt": "", "/home/ada/keys": "" });
  await files.symlink("/home/ada", "/home/ada/ws/up");
  await files.ensureDir("/etc/fleetctl/gate", { mode: 0o755 });
  const rules = { git_clean: "block", git_push: "ask" };
  await files.write(PATHS.gate("git"), JSON.stringify({ mcp: "git", version: "1", rules }));
  const asked: ToolCall[] = [];
  const policies: string[] = [];
  const gate = toolGate({
    ...ADA,
    mode,
    files,
    byUrl: new Set(["git"]),
    ask: async (call, { policy }) => {
      asked.push(call);
      const digest = await policy(call);
      if (digest.ok) policies.push(digest.value);
      return { ok: false, error: refusal("approval-denied", "Cannot call: not on a Friday") };
    },
  });
  const workspace = { folder: "/home/ada/ws", home: "/home/ada" };
  return {
    asked,
    policies,
    async run(of: Pick<Tool, "mcp" | "tool" | "kind">, input: unknown) {
      const { status, text } = await gate(tool(of), workspace).run(input, SIGNAL);
      if (status === "denied") assert.match(text, /not on a Friday|risk: block/);
      return status;
    },
  };
}

const OWN = { read: "read", edit: "edit", write: "edit", bash: "execute" } as const;
/** Calls, and whether they ask in the order of `ASK_MODES`: changes, outside, never. */
const BUILT_IN: readonly (readonly [keyof typeof OWN, unknown, readonly boolean[]])[] = [
  ["read", { path: "a.txt" }, [false, false, false]],
  ["read", { path: "~/keys" }, [true, true, false]],
  ["edit", { path: "a.txt", old_text: "x" }, [true, false, false]],
  ["write", { path: "new/b.txt" }, [true, false, false]],
  ["write", { path: "../keys" }, [true, true, false]],
  ["write", { path: "up/keys" }, [true, true, false]],
  ["write", { path: ".git/config" }, [true, true, false]],
  ["bash", { command: "ls" }, [true, true, false]],
  ["bash", { command: "fleetctl mcp call git git_push" }, [true, true, false]],
  ["bash", {}, [false, false, false]],
];

for (const [at, mode] of ASK_MODES.entries()) {
  Deno.test(`toolGate() asks about built-in tools in mode ${mode}`, async () => {
    for (const [name, input, asks] of BUILT_IN) {
      const { run, asked } = await modeBench(mode);
      const status = await run({ mcp: undefined, tool: name, kind: OWN[name] }, input);
      const shown = `${name} ${JSON.stringify(input)}`;
      assert.equal(status, asks[at] === true ? "denied" : "completed", shown);
      assert.deepEqual(
        asked.map((call) => [call.mcp, call.version, call.tool, call.arguments]),
        asks[at] === true ? [["", "runtime-b", name, input]] : [],
      );
    }
  });

  Deno.test(`toolGate() weakens no rule in mode ${mode}`, async () => {
    const { run, asked } = await modeBench(mode);
    const bash = { mcp: undefined, tool: "bash", kind: "execute" } as const;
    assert.equal(await run(bash, { command: "fleetctl mcp call git git_clean" }), "denied");
    assert.equal(await run({ mcp: "git", tool: "git_clean", kind: "other" }, {}), "denied");
    assert.equal(asked.length, 0);
    assert.equal(await run({ mcp: "git", tool: "git_push", kind: "other" }, { n: 1 }), "denied");
    assert.deepEqual(asked.map(({ tool: name }) => name), ["git_push"]);
  });
}

Deno.test("toolGate() binds a question about a built-in tool to the mode", async () => {
  const found = await Promise.all((["changes", "outside"] as const).map(async (mode) => {
    const { run, policies } = await modeBench(mode);
    await run({ mcp: undefined, tool: "bash", kind: "execute" }, { command: "ls" });
    return policies[0];
  }));
  assert.ok(found[0] !== undefined && found[0] !== found[1]);
});
