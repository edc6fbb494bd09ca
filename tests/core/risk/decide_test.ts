/**
 * The single decision about a call: names, spellings, command strings, approvals.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { McpName } from "core/names.ts";
import { commandBlocked, ruledCommand } from "core/risk/command.ts";
import { approvalUnavailable, decideCall, decideTool, strongest } from "core/risk/decide.ts";
import type { Gate, Risk } from "core/risk/rules.ts";

const RULES: ReadonlyMap<string, Risk> = new Map([
  ["wipe", "block"],
  ["write", "ask"],
  ["Mixed", "ask"],
  ["mixed", "block"],
]);

Deno.test("strongest() ranks block over ask, and ask over allow", () => {
  assert.equal(strongest(), "allow");
  assert.equal(strongest("allow", "ask"), "ask");
  assert.equal(strongest("ask", "block", "allow"), "block");
});

Deno.test("decideTool() finds the rule of a name in any spelling", () => {
  for (
    const [tool, want] of [
      ["look", "allow"],
      ["write", "ask"],
      ["wipe", "block"],
      ["WIPE", "block"],
      [" wipe ", "block"],
      ["ｗｉｐｅ", "block"],
      ["wipe2", "allow"],
      ["Mixed", "block"],
      ["mixed", "block"],
      ["", "allow"],
      ["__proto__", "allow"],
    ] as const
  ) {
    assert.equal(decideTool(RULES, tool), want, JSON.stringify(tool));
  }
});

Deno.test("decideTool() applies a rule whatever the case of the name", () => {
  fc.assert(fc.property(
    fc.array(fc.tuple(fc.constantFrom("a", "A", "b", "B"), fc.constantFrom("block", "ask"))),
    fc.constantFrom("a", "A", "b", "B"),
    (rows, tool) => {
      const rules = new Map(rows as [string, Risk][]);
      const same = [...rules].filter(([name]) => name.toLowerCase() === tool.toLowerCase());
      assert.equal(decideTool(rules, tool), strongest(...same.map(([, risk]) => risk)));
    },
  ));
});

const GATE: Gate = {
  mcp: "git" as McpName,
  version: "1",
  rules: new Map([["git_clean", "block"], ["git_push", "ask"]]),
  reads: new Set(),
  idleStopSeconds: undefined,
};

const decisionOf = (command: string) => ruledCommand([GATE], command)?.decision ?? "allow";

Deno.test("ruledCommand() finds calls of ruled tools in a shell command", () => {
  for (
    const [command, want] of [
      ["ls -la", "allow"],
      ["fleetctl mcp call git git_log", "allow"],
      ["fleetctl mcp call git git_clean self", "block"],
      ["fleetctl mcp read git git_push", "ask"],
      ["/usr/bin/fleetctl mcp call --args '{}' git git_clean", "block"],
      ["echo hi && fleetctl mcp call git git_clean; true", "block"],
      ["sh -c 'fleetctl mcp call git git_push'", "ask"],
      ["fleetctl mcp call git git_push; fleetctl mcp call git git_clean", "block"],
      ["fleetctl mcp call other git_clean", "allow"],
      ["fleetctl mcp add git self", "allow"],
    ] as const
  ) {
    assert.equal(decisionOf(command), want, command);
  }
});

Deno.test("decideCall() states why it blocks, and what an ask without an approver needs", () => {
  const call = {
    agent: "ada",
    mcp: "git",
    version: "1",
    tool: "git_clean",
    arguments: {},
    origin: { kind: "direct" },
  } as const;
  const blocked = decideCall(GATE, call);
  assert.ok(blocked.decision === "block" && blocked.why.code === "tool-blocked");
  assert.equal(blocked.why.kind, "denied");
  assert.equal(decideCall(GATE, { ...call, tool: "git_push" }).decision, "ask");
  assert.equal(decideCall(GATE, { ...call, tool: "git_log" }).decision, "allow");
  const other = decideCall(GATE, { ...call, mcp: "notes", tool: "git_log" });
  assert.ok(other.decision === "block" && other.why.code === "pin-moved");
  assert.match(
    approvalUnavailable({ mcp: "git", tool: "git_push" }).message,
    /no approver is available here/,
  );
});

Deno.test("ruledCommand() names the rule that a command matches", () => {
  const met = ruledCommand(
    [GATE],
    "fleetctl mcp call git git_push; fleetctl mcp read git git_clean",
  );
  assert.equal(met?.tool, "git_clean");
  assert.ok(met !== undefined && commandBlocked(met).code === "command-blocked");
  // Known limit: the gate does not match the same action by other means.
  assert.equal(decisionOf("git push --force"), "allow");
  assert.equal(decisionOf("v=git_clean; fleetctl mcp call git $v"), "allow");
});
