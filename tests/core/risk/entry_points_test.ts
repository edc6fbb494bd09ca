/**
 * One decision at every entry point, checked on 10,000 generated calls. The runtime, the proxy,
 * `mcp read` and `mcp call` (on a socket and by URL), and relayed calls must agree on each. Calls
 * from scripts use the same function.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { CallOrigin, CallVerb } from "core/mcp/call_origin.ts";
import type { McpClient, McpEndpoint } from "core/ports/mcp_client.ts";
import type { McpName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { err, ok } from "core/result.ts";
import { callAdmitted } from "core/risk/admission.ts";
import type { ToolCall } from "core/risk/call.ts";
import { refusedKey } from "core/risk/argument_keys.ts";
import { ruledCommand } from "core/risk/command.ts";
import { decideCall, type Decision, strongest } from "core/risk/decide.ts";
import type { Gate, Risk } from "core/risk/rules.ts";
import { refusal } from "core/errors.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { toolGate } from "units/agent_loop/tool_gate.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";
import { judgeClientFrame } from "units/mcp/client_side.ts";

const RUNS = 10_000;
const NAMES = ["look", "write", "wipe", "WIPE", " write", "ｗｉｐｅ", "Look", "push", ""] as const;
/** Rules may also apply to every tool. */
const RULED = [...NAMES, ...NAMES, "*"] as const;
const KEYS = ["path", "text", "output_path", "outputPath", "CONFIRM", "nested"] as const;

interface Case {
  readonly gate: Gate;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

const gates = fc.record({
  rows: fc.array(
    fc.tuple(fc.constantFrom(...RULED), fc.constantFrom<Risk>("block", "ask")),
    { maxLength: 6 },
  ),
  reads: fc.array(fc.constantFrom(...NAMES), { maxLength: 4 }),
}).map(({ rows, reads }): Gate => ({
  mcp: "bench" as McpName,
  version: "1.0.0",
  rules: new Map(rows),
  reads: new Set(reads),
  idleStopSeconds: undefined,
}));
const values = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.integer(),
  fc.dictionary(fc.constantFrom(...KEYS), fc.boolean(), { maxKeys: 2, noNullPrototype: true }),
);
const cases: fc.Arbitrary<Case> = fc.record({
  gate: gates,
  tool: fc.constantFrom(...NAMES),
  arguments: fc.dictionary(fc.constantFrom(...KEYS), values, {
    maxKeys: 3,
    noNullPrototype: true,
  }),
});

function callOf(of: Case, origin: CallOrigin): ToolCall {
  const { gate, tool } = of;
  const named = { agent: "ada", mcp: "bench", version: gate.version };
  return { ...named, tool, arguments: of.arguments, origin };
}

/** Returns the proxy's decision about the bytes of the call. */
function atProxy(of: Case, meta?: unknown): Decision {
  const params = { name: of.tool, arguments: of.arguments, ...(meta ? { _meta: meta } : {}) };
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const bytes = new TextEncoder().encode(`${text}\n`);
  const verdict = judgeClientFrame({ kind: "line", bytes }, { agent: "ada", mcp: "bench" }, {
    ok: true,
    value: of.gate,
  });
  if (verdict.kind === "forward") return "allow";
  return verdict.kind === "ask" ? "ask" : "block";
}

const BY_URL: McpEndpoint = {
  http: { url: "https://bench.example/mcp", headers: {}, secrets: [] },
};

/** Returns a verb's decision: whether it reached the server, and whether it asked a human. */
async function atVerb(
  of: Case,
  origin: CallOrigin,
  at: McpEndpoint = { socket: "/run/mcp/bench.sock" },
): Promise<Decision> {
  let seen: Decision = "block";
  const client: McpClient = {
    listTools: () => Promise.resolve(ok([])),
    callTool: () => {
      seen = "allow";
      return Promise.resolve(ok({ isError: false, text: "", result: {} }));
    },
  };
  await callAdmitted(of.gate, callOf(of, origin), {
    client,
    at,
    ask: () => {
      seen = "ask";
      return Promise.resolve(err(refusal("approval-denied", "Cannot call: no")));
    },
  });
  return seen;
}

/** Returns the runtime's decision for a tool that it reaches by URL. */
async function atRuntime(of: Case): Promise<Decision> {
  const paths = pathsUnder("/");
  const files = memoryFiles();
  await files.ensureDir("/etc/fleetctl/gate", { mode: 0o755 });
  const { mcp, version, rules, reads } = of.gate;
  const text = JSON.stringify({
    mcp,
    version,
    rules: Object.fromEntries(rules),
    reads: [...reads],
  });
  await files.write(paths.gate("bench"), text, { mode: 0o644 });
  let seen: Decision = "block";
  const tool: Tool = {
    name: of.tool,
    tool: of.tool,
    mcp: "bench",
    kind: "other",
    isConcurrent: false,
    description: "",
    inputSchema: { type: "object" },
    run: () => {
      seen = "allow";
      return Promise.resolve({ status: "completed", text: "" });
    },
  };
  const gated = toolGate({
    agent: "ada",
    runtime: "runtime-b",
    mode: "never",
    paths,
    files,
    byUrl: new Set(["bench"]),
    ask: () => {
      seen = "ask";
      return Promise.resolve(err(refusal("approval-denied", "Cannot call: no")));
    },
  })(tool, undefined);
  await gated.run(of.arguments, new AbortController().signal);
  return seen;
}

Deno.test(`every entry point decides the same about ${RUNS} calls`, async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (of) => {
      const own = decideCall(of.gate, callOf(of, { kind: "direct" })).decision;
      assert.equal(atProxy(of), own, "proxy");
      assert.equal(await atRuntime(of), own, "runtime");
      const script: CallOrigin = { kind: "script", script: "a".repeat(64), call: 3 };
      assert.equal(decideCall(of.gate, callOf(of, script)).decision, own, "script");
      assert.equal(atProxy(of, { fleetctl: { origin: script } }), own, "script through the proxy");
      // The verbs also refuse some argument keys, and never allow what the others block.
      const verb = refusedKey(of.arguments) === undefined ? own : strongest(own, "block");
      for (const name of ["mcp read", "mcp call"] as const satisfies readonly CallVerb[]) {
        const origin: CallOrigin = { kind: "verb", verb: name };
        assert.equal(await atVerb(of, origin), verb, name);
        assert.equal(await atVerb(of, origin, BY_URL), verb, `${name} by URL`);
        assert.equal(atProxy(of, { fleetctl: { origin } }), verb, `${name} through the proxy`);
        const relayed = { kind: "relayed", verb: name, by: "somebody" } as const;
        const byRoot: CallOrigin = { ...relayed, root: true };
        assert.equal(await atVerb(of, byRoot), verb, `${name} relayed for root`);
        assert.equal(
          atProxy(of, { fleetctl: { origin: byRoot } }),
          verb,
          `${name} for root, proxy`,
        );
        // Only root may call, as another agent, a tool that the reviewed catalog does not mark
        // read-only.
        const foreign = of.gate.reads.has(of.tool) ? verb : strongest(verb, "block");
        assert.equal(await atVerb(of, relayed), foreign, `${name} relayed for an admin`);
        assert.equal(await atVerb(of, relayed, BY_URL), foreign, `${name} for an admin by URL`);
        assert.equal(atProxy(of, { fleetctl: { origin: relayed } }), foreign, `${name}, proxy`);
      }
    }),
    { numRuns: RUNS },
  );
});

Deno.test("an MCP that is held back answers no tool at any entry point", async () => {
  const gate: Gate = {
    mcp: "bench" as McpName,
    version: "1.0.0",
    rules: new Map([["*", "block"]]),
    reads: new Set(),
    idleStopSeconds: undefined,
  };
  for (const tool of [...NAMES, "*", "never-listed", "__proto__"]) {
    const of: Case = { gate, tool, arguments: {} };
    const verdict = decideCall(gate, callOf(of, { kind: "direct" }));
    assert.ok(verdict.decision === "block" && verdict.why.code === "mcp-held", tool);
    assert.deepEqual(verdict.why.hints, ["fleetctl mcp catalog review bench"]);
    assert.equal(atProxy(of), "block", tool);
    assert.equal(await atRuntime(of), "block", tool);
    assert.equal(await atVerb(of, { kind: "verb", verb: "mcp call" }), "block", tool);
  }
  assert.equal(ruledCommand([gate], "fleetctl mcp call bench never-listed")?.decision, "block");
});

Deno.test("a call for another version is blocked at every entry point", () => {
  const gate: Gate = {
    mcp: "bench" as McpName,
    version: "2.0.0",
    rules: new Map(),
    reads: new Set(),
    idleStopSeconds: undefined,
  };
  const call = { ...callOf({ gate, tool: "look", arguments: {} }, { kind: "direct" }) };
  assert.equal(decideCall(gate, call).decision, "allow");
  const verdict = decideCall(gate, { ...call, version: "1.0.0" });
  assert.ok(verdict.decision === "block" && verdict.why.code === "pin-moved");
});
