/**
 * The runtime's own gate: commands of `bash`, and MCPs that are reached by URL.
 *
 * @module
 */

import assert from "node:assert/strict";
import { refusal } from "core/errors.ts";
import { pathsUnder } from "core/paths.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { toolGate } from "units/agent_loop/tool_gate.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";

const PATHS = pathsUnder("/");
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
  const gate = toolGate({ agent: "ada", paths: PATHS, files, byUrl: new Set(["git"]) });
  return { gate, write, files };
}

Deno.test("toolGate() refuses a command that reaches a blocked tool, no other", async () => {
  const { gate } = await bench({ git_clean: "block", git_push: "ask" });
  const bash = tool({ mcp: undefined, tool: "bash", kind: "execute" });
  const run = (command: unknown) => gate(bash).run({ command }, SIGNAL);
  const blocked = await run("cd /srv && fleetctl mcp call git git_clean");
  assert.equal(blocked.status, "denied");
  assert.match(blocked.text, /reaches tool "git_clean" of MCP "git"/);
  assert.equal(bash.runs.length, 0);
  for (const command of ["ls", "git push", "fleetctl mcp call git git_push", 7]) {
    assert.equal((await run(command)).status, "completed", String(command));
  }
});

Deno.test("toolGate() reads the rules again when they changed", async () => {
  const { gate, write } = await bench({});
  const bash = tool({ mcp: undefined, tool: "bash", kind: "execute" });
  const gated = gate(bash);
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
    assert.equal((await gate(each).run({}, SIGNAL)).status, want, name);
  }
  await write("not a gate");
  const each = tool({ mcp: "git", tool: "git_log", kind: "other" });
  assert.match((await gate(each).run({}, SIGNAL)).text, /permission gate/);
});

Deno.test("toolGate() refuses a tool reached by URL while its gate file is missing", async () => {
  const { gate } = await bench();
  const each = tool({ mcp: "git", tool: "git_clean", kind: "other" });
  const refused = await gate(each).run({}, SIGNAL);
  assert.equal(refused.status, "denied");
  assert.match(refused.text, /permission gate is missing, so every call is refused/);
  assert.equal(each.runs.length, 0);
});

Deno.test("toolGate() ends a wait for approval when the turn is cancelled", async () => {
  const { files } = await bench({ git_push: "ask" });
  const asked = Promise.withResolvers<void>();
  const gate = toolGate({
    agent: "ada",
    paths: PATHS,
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
  const running = gate(each).run({}, turn.signal);
  await asked.promise;
  turn.abort();
  assert.deepEqual(await running, {
    status: "stopped",
    text: "[cancelled while it waited for approval]",
  });
  assert.equal(each.runs.length, 0);
});
