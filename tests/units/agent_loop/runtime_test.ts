/**
 * The whole loop: real runtime process, real ACP driver, real HTTP to a scripted model endpoint.
 * Covers streamed text, the built-in tools, and each provider protocol.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fixtureServer } from "tests/support/runtime_process.ts";
import { of, withRuntime } from "tests/support/runtime_scene.ts";

Deno.test("runtime streams text as deltas and one whole message", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script({ kind: "answer", text: "The quick brown fox jumps over the lazy dog." });
    const { outcome, updates, text } = await runtime.turn("say something");
    assert.deepEqual(outcome, { outcome: "completed" });
    assert.equal(text, "The quick brown fox jumps over the lazy dog.");
    const deltas = of(updates, "text_delta");
    assert.ok(deltas.length > 1);
    assert.equal(deltas.map((delta) => delta.text).join(""), text);
    assert.deepEqual(updates.slice(-2).map(({ kind }) => kind), ["message", "usage"]);
    const [request] = model.requests;
    assert.equal(request?.headers.get("authorization"), "Bearer key-0123456789");
    assert.equal(request?.body.messages.at(-1).content, "say something");
    assert.deepEqual(
      request?.body.tools.map((tool: { function: { name: string } }) => tool.function.name),
      ["bash", "read", "edit", "write", "todo", "remember"],
    );
  });
});

Deno.test("runtime runs built-in tools and hands their results to the model", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    const path = `${home}/note.txt`;
    model.script(
      { kind: "answer", calls: [{ tool: "write", arguments: { path, content: "one\ntwo\n" } }] },
      {
        kind: "answer",
        calls: [{ tool: "edit", arguments: { path, old_text: "two", new_text: "three" } }],
      },
      {
        kind: "answer",
        calls: [
          { tool: "read", arguments: { path } },
          { tool: "bash", arguments: { command: "pwd; env | grep -c -i -E 'api_key|model_key'" } },
        ],
      },
      { kind: "answer", text: "done" },
    );
    const { outcome, updates } = await runtime.turn("work");
    assert.deepEqual(outcome, { outcome: "completed" });
    assert.equal(await Deno.readTextFile(path), "one\nthree\n");
    const calls = of(updates, "tool_call");
    assert.deepEqual(calls.map((call) => [call.mcp, call.tool]), [
      [undefined, "write"],
      [undefined, "edit"],
      [undefined, "read"],
      [undefined, "bash"],
    ]);
    assert.deepEqual(calls[0]?.arguments, { path, content: "one\ntwo\n" });
    const results = of(updates, "tool_result");
    assert.deepEqual(results.map((result) => result.status), [
      "completed",
      "completed",
      "completed",
      "failed",
    ]);
    assert.equal(results[2]?.text, "1\tone\n2\tthree");
    // The environment of a tool does not contain the model's keys.
    assert.equal(results[3]?.text, `${home}\n0\n[exit code 1]`);
    assert.ok(results.every((result) => result.durationMs >= 0));
    const sent = model.requests.at(-1)?.body.messages.filter((each: { role: string }) =>
      each.role === "tool"
    );
    assert.equal(sent.length, 4);
  });
});

Deno.test("runtime bounds 5 MB of tool output, from MCP and from bash", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(
      { kind: "answer", calls: [{ tool: "big", arguments: { bytes: 5_000_000 } }] },
      {
        kind: "answer",
        calls: [{
          tool: "bash",
          arguments: { command: "head -c 5000000 /dev/zero | tr '\\0' y; echo end" },
        }],
      },
      { kind: "answer", text: "done" },
    );
    const { outcome, updates } = await runtime.turn("work");
    assert.deepEqual(outcome, { outcome: "completed" });
    for (const result of of(updates, "tool_result")) {
      assert.equal(result.status, "completed");
      assert.ok(result.text.length < 70_000, `${result.text.length} bytes`);
      assert.match(result.text, /… \d{7} bytes left out …/);
    }
    assert.match(of(updates, "tool_result")[1]?.text ?? "", /yend\n$/);
    const sent = JSON.stringify(model.requests.at(-1)?.body);
    assert.ok(sent.length < 200_000);
  }, { servers: { fix: fixtureServer() } });
});

Deno.test("a made-up tool and broken arguments become results for the model", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(
      { kind: "answer", calls: [{ tool: "no_such", arguments: {} }] },
      { kind: "answer", calls: [{ tool: "read", arguments: {} }], rawArguments: '{"path": ' },
      { kind: "answer", calls: [{ tool: "read", arguments: { file: "x" } }] },
      { kind: "answer", text: "sorry" },
    );
    const { outcome, updates } = await runtime.turn("go");
    assert.deepEqual(outcome, { outcome: "completed" });
    const texts = of(updates, "tool_result").map((result) => `${result.status}: ${result.text}`);
    assert.match(texts[0] ?? "", /failed: There is no tool "no_such". The tools are: bash/);
    assert.match(texts[1] ?? "", /failed: The arguments are unusable/);
    assert.match(texts[2] ?? "", /failed: The arguments are unusable: path/);
  });
});

for (
  const { provider, path, env } of [
    { provider: "anthropic", path: "/v1/messages", env: { ANTHROPIC_API_KEY: "sk-ant-1" } },
    { provider: "openai", path: "/v1/responses", env: { OPENAI_API_KEY: "sk-1" } },
  ]
) {
  Deno.test(`provider ${provider} streams text and calls tools over its own protocol`, async () => {
    await withRuntime(async ({ model, runtime }) => {
      model.script(
        {
          kind: "answer",
          text: "Let me look.",
          calls: [{ tool: "bash", arguments: { command: "echo 42" } }],
        },
        { kind: "answer", text: "It is 42." },
        { kind: "cut", text: "And then", cleanly: true },
      );
      const { outcome, updates, text } = await runtime.turn("compute");
      assert.deepEqual(outcome, { outcome: "completed" });
      assert.equal(text, "Let me look.\nIt is 42.");
      assert.equal(of(updates, "tool_result")[0]?.text, "42\n");
      assert.deepEqual(model.requests.map((request) => request.path), [path, path]);
      assert.match(JSON.stringify(model.requests[1]?.body), /42\\n/);
      const cut = await runtime.turn("more");
      assert.deepEqual([cut.outcome.outcome, cut.outcome.code], ["failed", "model-stream-cut"]);
    }, { env: { FLEETCTL_PROVIDER: provider, FLEETCTL_MODEL_KEY: "", ...env } });
  });
}

const SPENT = { input: 100, output: 10, cachedRead: 1_000, cachedWrite: 50 };

for (
  const { provider, reportsWrites } of [
    { provider: "anthropic", reportsWrites: true },
    { provider: "openai", reportsWrites: true },
    // The provider's package does not know a number of cached writes: they are input.
    { provider: "openai-compatible", reportsWrites: false },
  ]
) {
  Deno.test(`provider ${provider}: a turn reports the tokens of its answers`, async () => {
    await withRuntime(async ({ model, runtime }) => {
      model.script(
        {
          kind: "answer",
          calls: [{ tool: "bash", arguments: { command: "true" } }],
          usage: SPENT,
        },
        { kind: "answer", text: "done", usage: SPENT },
        {
          kind: "answer",
          calls: [{ tool: "bash", arguments: { command: "true" } }],
          usage: SPENT,
        },
        { kind: "cut", text: "And then", cleanly: true },
      );
      const tokens = (calls: number) => ({
        model: "fake",
        inputTokens: calls * (reportsWrites ? 100 : 150),
        outputTokens: calls * 10,
        cachedReadTokens: calls * 1_000,
        cachedWriteTokens: calls * (reportsWrites ? 50 : 0),
      });
      const whole = await runtime.turn("compute");
      assert.deepEqual(of(whole.updates, "usage"), [{ kind: "usage", models: [tokens(2)] }]);
      const cut = await runtime.turn("more");
      assert.equal(cut.outcome.code, "model-stream-cut");
      assert.deepEqual(of(cut.updates, "usage"), [
        { kind: "usage", models: [tokens(1)], isPartial: true },
      ]);
    }, {
      env: { FLEETCTL_PROVIDER: provider, ANTHROPIC_API_KEY: "sk-ant-1", OPENAI_API_KEY: "sk-1" },
    });
  });
}
