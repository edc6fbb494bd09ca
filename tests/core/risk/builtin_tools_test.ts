/**
 * The table of built-in tools: every row, and that a stricter mode never allows more.
 *
 * @module
 */

import assert from "node:assert/strict";
import { ASK_MODES } from "core/ledger/agent.ts";
import {
  builtInPolicy,
  decideBuiltIn,
  defaultAskMode,
  type Place,
  type ToolClass,
} from "core/risk/builtin_tools.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import { TREE } from "tests/support/module_graph.ts";

type Row = readonly [ToolClass, Place, ...("allow" | "ask")[]];

/** Answers in the order of `ASK_MODES`: changes, outside, never. */
const TABLE: readonly Row[] = [
  ["read", "inside", "allow", "allow", "allow"],
  ["read", "outside", "ask", "ask", "allow"],
  ["edit", "inside", "ask", "allow", "allow"],
  ["edit", "outside", "ask", "ask", "allow"],
  ["command", "inside", "ask", "allow", "allow"],
  ["command", "outside", "ask", "ask", "allow"],
  ["web", "inside", "ask", "ask", "allow"],
  ["web", "outside", "ask", "ask", "allow"],
  ["other", "inside", "ask", "ask", "allow"],
  ["other", "outside", "ask", "ask", "allow"],
];

for (const [toolClass, place, ...answers] of TABLE) {
  Deno.test(`decideBuiltIn() about ${toolClass} ${place}: ${answers.join(", ")}`, () => {
    const call = { toolClass, place, hasArguments: true };
    assert.deepEqual(ASK_MODES.map((mode) => decideBuiltIn(call, mode)), answers);
    const unknown = { ...call, hasArguments: false };
    assert.deepEqual(
      ASK_MODES.map((mode) => decideBuiltIn(unknown, mode)),
      toolClass === "read" ? answers : ["ask", "ask", "ask"],
    );
  });
}

Deno.test("defaultAskMode() asks for every program but the built-in runtime", () => {
  const modes = [...shippedDefinitions()].map(([name, each]) => [name, defaultAskMode(each)]);
  assert.deepEqual(Object.fromEntries(modes), {
    "runtime-a": "never",
    "runtime-b": "never",
    "claude-code": "changes",
    codex: "changes",
    pi: "changes",
    opencode: "changes",
    "claude-agent-acp": "changes",
  });
});

Deno.test("builtInPolicy() differs for each mode", async () => {
  const policies = await Promise.all(ASK_MODES.map(builtInPolicy));
  assert.equal(new Set(policies).size, ASK_MODES.length);
});

Deno.test("docs/approvals.md matches the table", async () => {
  const page = await Deno.readTextFile(`${TREE}docs/approvals.md`);
  const [, section = ""] = page.split("## Built-in tools and modes");
  const found = [...section.matchAll(/^\|[^|]+\| (allow|ask) \| (allow|ask) \| (allow|ask) \|$/gm)];
  assert.deepEqual(found.map(([, ...answers]) => answers), [
    ["allow", "allow", "allow"], // read inside
    ["ask", "ask", "allow"], // read outside
    ["ask", "allow", "allow"], // edit inside
    ["ask", "ask", "allow"], // edit outside
    ["ask", "allow", "allow"], // command in a sandbox
    ["ask", "ask", "allow"], // command
    ["ask", "ask", "allow"], // web
    ["ask", "ask", "allow"], // other
  ]);
});
