/**
 * What the tools of each program do: class and paths, from the questions as the programs send them.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ToolAct } from "core/risk/builtin_tools.ts";
import { acpAct, claudeAct, patchAct, piAct } from "units/dial/runtimes/tool_acts.ts";
import { claudeSettings } from "units/dial/runtimes/claude_settings.ts";

type Row = readonly [tool: string, given: unknown, ToolAct["toolClass"], readonly string[]];

const CLAUDE: readonly Row[] = [
  ["Read", { file_path: "/ws/a" }, "read", ["/ws/a"]],
  ["Glob", { pattern: "*", path: "/etc" }, "read", ["/etc"]],
  ["Grep", { pattern: "x" }, "read", []],
  ["Edit", { file_path: "/ws/a", old_string: "x" }, "edit", ["/ws/a"]],
  ["MultiEdit", { file_path: "/ws/a", edits: [] }, "edit", ["/ws/a"]],
  ["Write", { file_path: "/ws/a", content: "" }, "edit", ["/ws/a"]],
  ["Write", { file_path: "a", content: "" }, "edit", [""]],
  ["Write", { file_path: 7, content: "" }, "edit", [""]],
  ["NotebookEdit", { notebook_path: "/ws/n" }, "edit", ["/ws/n"]],
  ["Bash", { command: "ls" }, "command", []],
  ["WebFetch", { url: "https://a" }, "web", []],
  ["WebSearch", { query: "a" }, "web", []],
  ["Task", { prompt: "a" }, "other", []],
  ["Agent", { prompt: "a" }, "other", []],
  ["AskUserQuestion", { questions: [] }, "other", []],
  ["read", { file_path: "/ws/a" }, "other", ["/ws/a"]],
  ["toString", {}, "other", []],
];
const PI: readonly Row[] = [
  ["read", { path: "a" }, "read", ["a"]],
  ["grep", { pattern: "x" }, "read", []],
  ["find", { pattern: "x", path: "/" }, "read", ["/"]],
  ["ls", {}, "read", []],
  ["edit", { path: "a", edits: [] }, "edit", ["a"]],
  ["write", { path: "@/etc/x" }, "edit", ["@/etc/x"]],
  ["bash", { command: "ls" }, "command", []],
  ["deploy", { path: "a" }, "other", ["a"]],
];
for (const [name, act, rows] of [["claudeAct", claudeAct, CLAUDE], ["piAct", piAct, PI]] as const) {
  for (const [tool, given, toolClass, paths] of rows) {
    Deno.test(`${name}() reads ${tool} ${JSON.stringify(given)}`, () => {
      assert.deepEqual(act(tool, given), { toolClass, paths });
    });
  }
}

const CALL = { kind: undefined, locations: undefined, content: undefined, arguments: {} };
const ACP: readonly (readonly [string, Partial<typeof CALL | object>, ToolAct])[] = [
  [
    "an edit of opencode",
    {
      kind: "edit",
      locations: [{ path: "/ws/a" }],
      content: [{ type: "diff", path: "/ws/a", oldText: "", newText: "" }],
      arguments: { filepath: "/ws/a", diff: "…" },
    },
    { toolClass: "edit", paths: ["/ws/a"] },
  ],
  [
    "an edit whose parts name several files",
    {
      kind: "edit",
      locations: [{ path: "/ws/a" }],
      content: [{ type: "diff", path: "/ws/b" }],
      arguments: { filePath: "/ws/c" },
    },
    { toolClass: "edit", paths: ["/ws/a", "/ws/b", "/ws/c"] },
  ],
  [
    "a relative path",
    { kind: "edit", locations: [{ path: "a" }] },
    { toolClass: "edit", paths: [""] },
  ],
  ["an edit of nothing", { kind: "edit", locations: [] }, { toolClass: "edit", paths: [] }],
  [
    "a broken location",
    { kind: "edit", locations: [{ path: 7 }, "x"] },
    { toolClass: "edit", paths: [""] },
  ],
  [
    "a deletion",
    { kind: "delete", locations: [{ path: "/ws/a" }] },
    { toolClass: "edit", paths: ["/ws/a"] },
  ],
  [
    "a move",
    { kind: "move", locations: [{ path: "/ws/a" }, { path: "/etc/a" }] },
    { toolClass: "edit", paths: ["/ws/a", "/etc/a"] },
  ],
  [
    "a move to an unknown place",
    { kind: "move", locations: [{ path: "/ws/a" }] },
    { toolClass: "edit", paths: [] },
  ],
  [
    "a read",
    { kind: "read", locations: [{ path: "/ws/a", line: 1 }] },
    { toolClass: "read", paths: ["/ws/a"] },
  ],
  ["a search", { kind: "search" }, { toolClass: "read", paths: [] }],
  [
    "a command",
    { kind: "execute", arguments: { command: "ls" } },
    { toolClass: "command", paths: [] },
  ],
  ["a fetch", { kind: "fetch", arguments: { url: "a" } }, { toolClass: "web", paths: [] }],
  ["a helper agent", { kind: "think" }, { toolClass: "other", paths: [] }],
  ["another kind", { kind: "switch_mode" }, { toolClass: "other", paths: [] }],
  ["no kind", {}, { toolClass: "other", paths: [] }],
];
for (const [what, announced, want] of ACP) {
  Deno.test(`acpAct() reads ${what}`, () => {
    assert.deepEqual(acpAct({ ...CALL, ...announced }), want);
  });
}

Deno.test("patchAct() names every file of a change, targets of moves too", () => {
  const changes = [
    { path: "/ws/a", kind: { type: "update", move_path: "/etc/a" }, diff: "" },
    { path: "/ws/b", kind: { type: "update", move_path: null }, diff: "" },
    { path: "/ws/c", kind: { type: "delete" }, diff: "" },
    { path: "d", kind: { type: "add" }, diff: "" },
    { kind: { type: "add" } },
  ];
  assert.deepEqual(patchAct(changes), {
    toolClass: "edit",
    paths: ["/ws/a", "/etc/a", "/ws/b", "/ws/c", "", ""],
  });
  assert.deepEqual(patchAct(undefined), { toolClass: "edit", paths: [] });
});

Deno.test("claudeSettings() lists every tool that the mode may ask about", () => {
  assert.equal(claudeSettings(undefined), undefined);
  assert.equal(claudeSettings("never"), undefined);
  for (const mode of ["changes", "outside"] as const) {
    const { permissions } = claudeSettings(mode) as { permissions: { ask: string[] } };
    for (const tool of ["Bash", "Edit", "Write", "Read", "WebFetch", "Task"]) {
      assert.ok(permissions.ask.includes(tool), tool);
    }
  }
});
