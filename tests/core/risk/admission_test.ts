/**
 * Admission of `mcp read` and `mcp call`: tools and argument keys.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type CallOrigin, readOrigin } from "core/mcp/call_origin.ts";
import type { McpName } from "core/names.ts";
import type { McpClient } from "core/ports/mcp_client.ts";
import { ok } from "core/result.ts";
import { callAdmitted } from "core/risk/admission.ts";
import type { ToolCall } from "core/risk/call.ts";
import type { Gate } from "core/risk/rules.ts";

const GATE: Gate = {
  mcp: "notes" as McpName,
  version: "1",
  rules: new Map([["purge", "block"], ["publish", "ask"]]),
  reads: new Set(),
  idleStopSeconds: undefined,
};

function bench(gate = GATE) {
  const called: string[] = [];
  const client: McpClient = {
    listTools: () => Promise.resolve(ok([])),
    callTool: (_, __, call) => {
      called.push(call.tool);
      return Promise.resolve(ok({ isError: false, text: "", result: {} }));
    },
  };
  const at = { socket: "/run/mcp/notes.sock" };
  const admit = (
    tool: string,
    given: ToolCall["arguments"],
    ask?: () => boolean,
    origin?: CallOrigin,
  ) =>
    callAdmitted(gate, {
      agent: "ada",
      mcp: "notes",
      version: "1",
      tool,
      arguments: given,
      origin: origin ?? { kind: "verb", verb: "mcp call" },
    }, { client, at, ...(ask === undefined ? {} : { ask: async () => (ask(), ok(undefined)) }) });
  return { called, admit };
}

Deno.test("callAdmitted() checks tools and argument keys before it calls", async () => {
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
    const { called, admit } = bench();
    const checked = await admit(tool, args);
    assert.equal(checked.ok ? undefined : checked.error.code, want, JSON.stringify(args));
    assert.deepEqual(called, want === undefined ? [tool] : []);
  }
});

Deno.test("callAdmitted() refuses arguments that are nested too deeply", async () => {
  let deep: unknown = { confirm: true };
  for (let level = 0; level < 100; level++) deep = [deep];
  const { called, admit } = bench();
  assert.equal((await admit("list", { deep })).ok, false);
  assert.deepEqual(called, []);
});

Deno.test("callAdmitted() requests approval only for tools that are marked ask", async () => {
  let asked = 0;
  const { called, admit } = bench();
  const ask = () => ++asked > 0;
  assert.ok((await admit("publish", {}, ask)).ok);
  assert.ok(!(await admit("purge", {}, ask)).ok);
  assert.ok(!(await admit("publish", { confirm: true }, ask)).ok);
  assert.ok((await admit("list", {}, ask)).ok);
  assert.equal(asked, 1);
  assert.deepEqual(called, ["publish", "list"]);
});

Deno.test("an admin may use only read-only tools of another agent", async () => {
  const gate = { ...GATE, reads: new Set(["list", "publish", "purge"]) };
  const relayed = { kind: "relayed", verb: "mcp read", by: 'admin agent "chief"' } as const;
  for (
    const [tool, origin, want] of [
      ["list", relayed, undefined],
      ["write", relayed, "tool-not-read-only"],
      // An allow list matches exact names only: another spelling may be another tool.
      ["List", relayed, "tool-not-read-only"],
      ["list ", relayed, "tool-not-read-only"],
      ["constructor", relayed, "tool-not-read-only"],
      // A read-only mark does not override a rule.
      ["purge", relayed, "tool-blocked"],
      ["publish", relayed, "approval-unavailable"],
      ["write", { ...relayed, verb: "mcp call" }, "tool-not-read-only"],
      ["write", { ...relayed, root: true }, undefined],
      ["write", { kind: "verb", verb: "mcp read" }, undefined],
    ] as const
  ) {
    const { called, admit } = bench(gate);
    const checked = await admit(tool, {}, undefined, origin);
    assert.equal(checked.ok ? undefined : checked.error.code, want, `${tool} ${origin.kind}`);
    assert.deepEqual(called, want === undefined ? [tool] : []);
  }
});

Deno.test("readOrigin() accepts as root only a caller that states it", () => {
  const written = { kind: "relayed", verb: "mcp read", by: "x" } as const;
  assert.deepEqual(readOrigin(written), written);
  assert.deepEqual(readOrigin({ ...written, root: "true" }), written);
  assert.deepEqual(readOrigin({ ...written, root: true }), { ...written, root: true });
});
