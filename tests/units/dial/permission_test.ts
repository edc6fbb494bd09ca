/**
 * Answers to a program's questions about its built-in tools, in each mode: what passes, what
 * becomes an approval, and that a mode never weakens the gate of an MCP.
 *
 * @module
 */

import assert from "node:assert/strict";
import { ASK_MODES, type AskMode } from "core/ledger/agent.ts";
import { pathsUnder } from "core/paths.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { openApprovals } from "units/dial/approvals.ts";
import { createPermissionEndpoint } from "units/dial/permission.ts";
import { claudeAct } from "units/dial/runtimes/tool_acts.ts";
import type { PermissionAsk } from "units/dial/runtimes/acp_permission.ts";
import { openDialStore } from "units/dial/store.ts";

const WORKSPACE = { folder: "/home/ada/ws", home: "/home/ada" };
const GATE = '{"mcp":"git","version":"1","rules":{"git_clean":"block","git_push":"ask"}}';
const URL_GATE = '{"mcp":"pages","version":"http","rules":{"push":"ask","wipe":"block"}}';

/** Creates an endpoint whose owner denies every approval. */
async function bench(mode: AskMode, isWorkspaceKnown = true) {
  const host = memoryHost({
    files: {
      "/etc/fleetctl/gate/git.json": GATE,
      "/etc/fleetctl/gate/pages.json": URL_GATE,
      "/home/ada/ws/a.txt": "",
      "/home/ada/keys": "",
    },
  });
  await host.files.symlink("/home/ada", "/home/ada/ws/up");
  const store = await openDialStore(host.databases, "/dial.db", "epoch");
  const approvals = openApprovals({
    agent: "ada",
    store,
    clock: host.clock,
    random: host.random,
    log: host.log,
    onStored: () => {},
    onWaiting: (isWaiting) => {
      if (isWaiting) queueMicrotask(denyOpen);
    },
  });
  function denyOpen() {
    for (const { id, digest, state } of approvals.list()) {
      if (state === "asked") {
        approvals.decide({ decision: "denied", by: "ada's owner", surface: "page", id, digest });
      }
    }
  }
  const { files, log } = host;
  const endpoint = createPermissionEndpoint({
    runtime: "claude-code",
    mode,
    workspace: () => isWorkspaceKnown ? WORKSPACE : undefined,
    paths: pathsUnder("/"),
    files,
    log,
  });
  endpoint.open(approvals);
  return {
    approvals,
    log: host.log,
    async answer(ask: Omit<PermissionAsk, "callId" | "title">) {
      const before = approvals.list().length;
      const { decision } = await endpoint.decide({ callId: "c", title: "", ...ask });
      const isAsked = approvals.list().length > before;
      assert.equal(isAsked && decision === "allow", false);
      return isAsked ? "ask" : decision;
    },
  };
}

const claude = (tool: string, given: unknown): Omit<PermissionAsk, "callId" | "title"> => ({
  tool,
  arguments: given,
  act: claudeAct(tool, given),
});

/** Questions, and the answers in the order of `ASK_MODES`: changes, outside, never. */
const OWN: readonly (readonly [string, unknown, readonly string[]])[] = [
  ["Read", { file_path: "/home/ada/ws/a.txt" }, ["allow", "allow", "allow"]],
  ["Read", { file_path: "/home/ada/keys" }, ["ask", "ask", "allow"]],
  ["Read", {}, ["allow", "allow", "allow"]],
  ["Grep", { pattern: "x" }, ["allow", "allow", "allow"]],
  ["Edit", { file_path: "/home/ada/ws/a.txt", old_string: "" }, ["ask", "allow", "allow"]],
  ["Write", { file_path: "/home/ada/ws/new/b.txt", content: "" }, ["ask", "allow", "allow"]],
  ["Write", { file_path: "/home/ada/ws/../keys", content: "" }, ["ask", "ask", "allow"]],
  ["Write", { file_path: "/home/ada/ws/up/keys", content: "" }, ["ask", "ask", "allow"]],
  ["Write", { file_path: "/home/ada/ws/.git/config", content: "" }, ["ask", "ask", "allow"]],
  ["Write", { content: "" }, ["ask", "ask", "allow"]],
  ["NotebookEdit", { notebook_path: "/home/ada/ws/n.ipynb" }, ["ask", "allow", "allow"]],
  ["Bash", { command: "ls" }, ["ask", "ask", "allow"]],
  ["WebFetch", { url: "https://example.org" }, ["ask", "ask", "allow"]],
  ["Task", { prompt: "go" }, ["ask", "ask", "allow"]],
  ["NewTool", { file_path: "/home/ada/ws/a.txt" }, ["ask", "ask", "allow"]],
  ["Edit", {}, ["ask", "ask", "ask"]],
  ["Bash", {}, ["ask", "ask", "ask"]],
];

for (const [at, mode] of ASK_MODES.entries()) {
  Deno.test(`mode ${mode} decides about built-in tools by the table`, async () => {
    const { answer } = await bench(mode);
    for (const [tool, given, wanted] of OWN) {
      const shown = `${tool} ${JSON.stringify(given)}`;
      assert.equal(await answer(claude(tool, given)), wanted[at], shown);
    }
  });

  Deno.test(`mode ${mode} weakens no gate`, async () => {
    const { answer } = await bench(mode);
    const of = { mcp: "git", isProxied: true, arguments: { n: 1 } };
    assert.equal(await answer({ ...of, tool: "git_clean" }), "deny");
    assert.equal(await answer({ ...of, tool: "git_log" }), "allow");
    const byUrl = { mcp: "pages", isProxied: false, arguments: { n: 1 } };
    assert.equal(await answer({ ...byUrl, tool: "wipe" }), "deny");
    assert.equal(await answer({ ...byUrl, tool: "push" }), "ask");
    assert.equal(await answer({ ...byUrl, tool: "read" }), "allow");
    // A command that reaches a blocked tool.
    const command = "fleetctl mcp call git git_clean";
    assert.equal(await answer(claude("Bash", { command })), "deny");
    // A server that fleetctl did not wire, and one that only has a name of ours.
    for (const mcp of ["foreign", "git"]) {
      const act = { toolClass: "read" as const, paths: [] };
      assert.equal(await answer({ mcp, tool: "look", arguments: { n: 1 }, act }), "ask", mcp);
    }
  });
}

Deno.test("without a workspace no edit passes but in mode never", async () => {
  const edit = claude("Edit", { file_path: "/home/ada/ws/a.txt" });
  for (const [mode, want] of [["outside", "ask"], ["never", "allow"]] as const) {
    const { answer } = await bench(mode, false);
    assert.equal(await answer(edit), want);
  }
});

Deno.test("a call that the mode allows is logged; an approval has tool and arguments", async () => {
  const { answer, approvals, log } = await bench("outside");
  const given = { file_path: "/home/ada/ws/a.txt", old_string: "x" };
  assert.equal(await answer(claude("Edit", given)), "allow");
  assert.deepEqual(approvals.list(), []);
  const passed = log.of("permission allowed");
  assert.deepEqual(passed.map(({ fields }) => fields), [{ tool: "Edit", mode: "outside" }]);
  assert.equal(await answer(claude("Bash", { command: "make" })), "ask");
  const [asked] = approvals.list();
  assert.deepEqual([asked?.mcp, asked?.tool, asked?.version, asked?.arguments], [
    "",
    "Bash",
    "claude-code",
    { command: "make" },
  ]);
});
