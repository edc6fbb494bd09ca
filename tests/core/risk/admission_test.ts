/**
 * Admission of `mcp read` and `mcp call`: tools and argument keys.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { McpName } from "core/names.ts";
import type { McpClient } from "core/mcp_port.ts";
import { ok } from "core/result.ts";
import { callAdmitted, checkAdmission } from "core/risk/admission.ts";
import type { Gate } from "core/risk/rules.ts";

const GATE: Gate = {
  mcp: "notes" as McpName,
  version: "1",
  rules: new Map([["purge", "block"], ["publish", "ask"]]),
  idleStopSeconds: undefined,
};

Deno.test("checkAdmission() judges tools and argument keys", () => {
  for (
    const [tool, args, want] of [
      ["list", {}, undefined],
      ["list", { path: "/srv/site", file_path: "a" }, undefined],
      ["purge", {}, "tool-blocked"],
      ["publish", {}, "approval-unavailable"],
      ["list", { output_path: "/tmp/x" }, "argument-refused"],
      ["list", { outputPath: "/tmp/x" }, "argument-refused"],
      ["list", { "OUTPUT-PATH": "/tmp/x" }, "argument-refused"],
      ["list", { a: [{ b: { Confirmed: true } }] }, "argument-refused"],
      ["list", { filename: "x" }, "argument-refused"],
      ["list", { skip_confirmation: true }, "argument-refused"],
    ] as const
  ) {
    const checked = checkAdmission(GATE, { tool, arguments: args });
    assert.equal(checked.ok ? undefined : checked.error.code, want, JSON.stringify(args));
  }
});

Deno.test("checkAdmission() refuses arguments that are nested past all reason", () => {
  let deep: unknown = { confirm: true };
  for (let level = 0; level < 100; level++) deep = [deep];
  assert.equal(checkAdmission(GATE, { tool: "list", arguments: { deep } }).ok, false);
});

Deno.test("callAdmitted() calls nothing that was not admitted", async () => {
  const called: string[] = [];
  const client: McpClient = {
    listTools: () => Promise.resolve(ok([])),
    callTool: (_, __, call) => {
      called.push(call.tool);
      return Promise.resolve(ok({ isError: false, text: "", result: {} }));
    },
  };
  const at = { socket: "/run/mcp/notes.sock" };
  assert.equal((await callAdmitted(client, at, GATE, { tool: "purge", arguments: {} })).ok, false);
  assert.equal((await callAdmitted(client, at, GATE, { tool: "list", arguments: {} })).ok, true);
  assert.deepEqual(called, ["list"]);
});
