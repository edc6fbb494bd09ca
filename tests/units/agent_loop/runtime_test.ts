/**
 * The whole loop: real runtime process, real ACP driver, real HTTP to a scripted model endpoint,
 * a real MCP server over stdio.
 *
 * @module
 */

import assert from "node:assert/strict";
import { startFakeModel } from "tests/fakes/model_endpoint.ts";
import { fixtureServer, startRuntime } from "tests/support/runtime_process.ts";
import { GRACE_MS, lifeline, of, withRuntime } from "tests/support/runtime_scene.ts";

Deno.test("runtime streams text as deltas and one whole message", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script({ kind: "answer", text: "The quick brown fox jumps over the lazy dog." });
    const { outcome, updates, text } = await runtime.turn("say something");
    assert.deepEqual(outcome, { outcome: "completed" });
    assert.equal(text, "The quick brown fox jumps over the lazy dog.");
    const deltas = of(updates, "text_delta");
    assert.ok(deltas.length > 1);
    assert.equal(deltas.map((delta) => delta.text).join(""), text);
    assert.equal(updates.at(-1)?.kind, "message");
    const [request] = model.requests;
    assert.equal(request?.headers.get("authorization"), "Bearer key-0123456789");
    assert.equal(request?.body.messages.at(-1).content, "say something");
    assert.deepEqual(
      request?.body.tools.map((tool: { function: { name: string } }) => tool.function.name),
      ["bash", "read", "edit", "write"],
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
    // The keys of the model are not in a tool's environment.
    assert.equal(results[3]?.text, `${home}\n0\n[exit code 1]`);
    assert.ok(results.every((result) => result.durationMs >= 0));
    const sent = model.requests.at(-1)?.body.messages.filter((each: { role: string }) =>
      each.role === "tool"
    );
    assert.equal(sent.length, 4);
  });
});

Deno.test("runtime calls MCP tools and names server and tool", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(
      { kind: "answer", calls: [{ tool: "echo", arguments: { say: "hello" } }] },
      { kind: "answer", calls: [{ tool: "fix_read", arguments: {} }] },
      { kind: "answer", calls: [{ tool: "fail", arguments: {} }] },
      { kind: "answer", calls: [{ tool: "refuse", arguments: {} }] },
      { kind: "answer", calls: [{ tool: "environment", arguments: {} }] },
      { kind: "answer", text: "done" },
    );
    const { updates } = await runtime.turn("work");
    assert.deepEqual(of(updates, "tool_call").map((call) => [call.mcp, call.tool]), [
      ["fix", "echo"],
      ["fix", "read"],
      ["fix", "fail"],
      ["fix", "refuse"],
      ["fix", "environment"],
    ]);
    const results = of(updates, "tool_result");
    assert.deepEqual(results.slice(0, 4).map(({ status, text }) => [status, text]), [
      ["completed", "hello"],
      ["completed", "not a file"],
      ["failed", "it went wrong"],
      ["denied", "blocked by policy"],
    ]);
    const names = results[4]?.text.split(" ") ?? [];
    assert.ok(names.includes("GIVEN"));
    assert.ok(!names.includes("FLEETCTL_MODEL_KEY"), "a server gets no key that is not its own");
    const notices = of(updates, "notice").map((notice) => notice.text);
    assert.equal(notices.length, 2, "each broken server is told once");
    assert.match(notices[0] ?? "", /MCP "needy" is not available: it needs SOME_TOKEN/);
    assert.match(
      notices[1] ?? "",
      /MCP "broken" is not available: it ended with exit code 3: no socket/,
    );
    model.script({ kind: "answer", text: "again" });
    assert.deepEqual(of((await runtime.turn("more")).updates, "notice"), []);
  }, {
    servers: {
      broken: { command: "/bin/sh", args: ["-c", "echo no socket >&2; exit 3"] },
      needy: { command: "/bin/true", env: { TOKEN: "${SOME_TOKEN}" } },
      fix: fixtureServer({ GIVEN: "yes" }),
    },
  });
});

Deno.test("runtime says so when an MCP server dies in mid-call, and starts it again", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(
      { kind: "answer", calls: [{ tool: "die", arguments: {} }] },
      { kind: "answer", calls: [{ tool: "echo", arguments: { say: "back" } }] },
      { kind: "answer", text: "done" },
    );
    const { outcome, updates } = await runtime.turn("work");
    assert.deepEqual(outcome, { outcome: "completed" });
    const [died, again] = of(updates, "tool_result");
    assert.equal(died?.status, "failed");
    assert.match(
      died?.text ?? "",
      /MCP "fix" was lost in mid-call: it ended with signal SIGKILL: the fixture gives up/,
    );
    assert.deepEqual([again?.status, again?.text], ["completed", "back"]);
  }, { servers: { fix: fixtureServer() } });
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

Deno.test("cancel() ends a running tool and its whole group, and the conversation goes on", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    const alive = await lifeline(home);
    model.script(
      {
        kind: "answer",
        calls: [
          { tool: "bash", arguments: { command: `exec 9>${alive.path}; sleep 1000 & wait` } },
          { tool: "bash", arguments: { command: "echo never" } },
        ],
      },
      { kind: "answer", text: "still here" },
    );
    const turn = runtime.turn("work");
    await alive.begun;
    await runtime.session.cancel();
    const { outcome, updates } = await turn;
    assert.equal(outcome.outcome, "cancelled");
    await alive.ended();
    const results = of(updates, "tool_result");
    assert.deepEqual(results.map((result) => result.status), ["stopped", "stopped"]);
    const next = await runtime.turn("and now?");
    assert.equal(next.text, "still here");
    const messages = model.requests.at(-1)?.body.messages;
    assert.deepEqual(messages.map((each: { role: string }) => each.role), [
      "system",
      "user",
      "assistant",
      "tool",
      "tool",
      "assistant",
      "user",
    ]);
  });
});

Deno.test("cancel() ends an answer in mid-stream and an MCP call", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script({ kind: "hang", text: "I begin and then " });
    const text = Promise.withResolvers<void>();
    const turn = runtime.turn("talk", (update) => {
      if (update.kind === "text_delta") text.resolve();
    });
    await text.promise;
    await runtime.session.cancel();
    assert.equal((await turn).outcome.outcome, "cancelled");
    await model.hungUp;

    model.script({ kind: "answer", calls: [{ tool: "wait", arguments: {} }] });
    const called = Promise.withResolvers<void>();
    const second = runtime.turn("wait", (update) => {
      if (update.kind === "tool_call") called.resolve();
    });
    await called.promise;
    await runtime.session.cancel();
    const { outcome, updates } = await second;
    assert.equal(outcome.outcome, "cancelled");
    assert.deepEqual(of(updates, "tool_result").map((result) => result.status), ["stopped"]);
  }, { servers: { fix: fixtureServer() } });
});

Deno.test("kill -9 in mid-turn interrupts the turn, and the next start resumes the conversation", async () => {
  await withRuntime(async ({ model, runtime, home, env }) => {
    model.script({ kind: "answer", text: "Hello Mia." });
    await runtime.turn("my name is Mia");
    const alive = await lifeline(home);
    const command = `exec 9>${alive.path}; sleep 1000`;
    model.script({ kind: "answer", calls: [{ tool: "bash", arguments: { command } }] });
    const turn = runtime.turn("work");
    await alive.begun;
    Deno.kill(runtime.child.pid, "SIGKILL");
    const { outcome, updates } = await turn;
    assert.equal(outcome.outcome, "interrupted");
    assert.equal(outcome.code, "runtime-ended");
    assert.match(outcome.reason ?? "", /signal SIGKILL/);
    assert.deepEqual(of(updates, "tool_result").map((result) => result.status), ["stopped"]);
    assert.match(await runtime.session.ended, /signal SIGKILL/);
    // The command does not outlive the runtime, even when that had no time to end it.
    await alive.ended();

    const second = await startRuntime(home, env);
    try {
      model.script({ kind: "answer", text: "Mia." });
      assert.equal((await second.turn("what is my name?")).text, "Mia.");
    } finally {
      await second.session.close(GRACE_MS);
    }
    const { messages } = model.requests.at(-1)?.body;
    const told = messages.map((each: { role: string; content: string }) => each.role);
    assert.deepEqual(told.slice(1), [
      "user",
      "assistant",
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    assert.equal(messages[1].content, "my name is Mia");
    assert.match(messages[5].content, /interrupted/);
    assert.equal(messages[5].tool_call_id, messages[4].tool_calls[0].id);
  });
});

Deno.test("429 and 5xx are tried again with a notice each", async () => {
  await withRuntime(async ({ model, runtime }) => {
    const body = { error: { message: "slow down", type: "rate_limit_error" } };
    model.script(
      { kind: "status", status: 429, headers: { "retry-after": "0" }, body },
      { kind: "status", status: 503, headers: { "retry-after-ms": "1" } },
      { kind: "answer", text: "finally" },
    );
    const { outcome, updates, text } = await runtime.turn("go");
    assert.deepEqual(outcome, { outcome: "completed" });
    assert.equal(text, "finally");
    const notices = of(updates, "notice").map((notice) => notice.text);
    assert.equal(notices.length, 2);
    assert.match(
      notices[0] ?? "",
      /answered 429: slow down.*trying again in 0\.0 s \(attempt 2 of 5\)/,
    );
    assert.match(notices[1] ?? "", /answered 503.*attempt 3 of 5/);
  });
});

Deno.test("a failing endpoint ends the turn with code, reason and hint; the next turn works", async () => {
  await withRuntime(async ({ model, runtime }) => {
    const key = "key-0123456789";
    const rows = [
      {
        reply: {
          kind: "status" as const,
          status: 401,
          body: { error: { message: `Incorrect API key provided: ${key}` } },
        },
        code: "model-unauthorized",
        reason:
          /answered 401: Incorrect API key provided: \*\*\*.*fleetctl secret set FLEETCTL_MODEL_KEY --agent ada/,
      },
      {
        reply: { kind: "status" as const, status: 404 },
        code: "model-not-found",
        reason: /answered 404: status 404 \(model "fake"\)/,
      },
      {
        reply: { kind: "status" as const, status: 429, headers: { "retry-after": "3600" } },
        code: "model-rate-limited",
        reason: /given up it asks to wait 3600 s/,
      },
      {
        reply: { kind: "cut" as const, text: "Once upon a time there was " },
        code: "model-stream-cut",
        reason: /stopped in mid-stream/,
      },
      {
        reply: { kind: "cut" as const, text: "Once upon a time ", cleanly: true },
        code: "model-stream-cut",
        reason: /stopped in mid-stream/,
      },
      {
        reply: { kind: "garbage" as const, body: 'data: {"nonsense": tru\n\n' },
        code: "model-garbage",
        reason: /no model answer/,
      },
      {
        reply: {
          kind: "garbage" as const,
          body: "<html>login</html>",
          contentType: "text/html",
        },
        code: "model-garbage",
        reason: /web page/,
      },
      {
        reply: { kind: "answer" as const, text: "too long", finish: "length" as const },
        code: "model-output-limit",
        reason: /output limit/,
      },
    ];
    for (const { reply, code, reason } of rows) {
      model.script(...Array.from({ length: 5 }, () => reply));
      const { outcome } = await runtime.turn("go");
      assert.deepEqual([outcome.outcome, outcome.code], ["failed", code], outcome.reason ?? "");
      assert.match(outcome.reason ?? "", reason);
      assert.ok(!(outcome.reason ?? "").includes(key));
      model.forget();
    }
    model.script({ kind: "answer", text: "well again" });
    const { text } = await runtime.turn("still there?");
    assert.equal(text, "well again");
    const roles = model.requests.at(-1)?.body.messages.map((each: { role: string }) => each.role);
    roles.forEach((role: string, at: number) => {
      if (at > 0) assert.notEqual(role, roles[at - 1], "owner and assistant take turns");
    });
  });
});

Deno.test("an endpoint that is down ends the turn as unreachable", async () => {
  const closed = await startFakeModel();
  await closed.close();
  await withRuntime(async ({ runtime }) => {
    const { outcome, updates } = await runtime.turn("go");
    assert.deepEqual([outcome.outcome, outcome.code], ["failed", "model-unreachable"]);
    assert.match(outcome.reason ?? "", /127\.0\.0\.1:\d+ cannot be reached/);
    assert.equal(of(updates, "notice").length, 2);
  }, { env: { FLEETCTL_BASE_URL: closed.baseUrl } });
});

Deno.test("settings that are no good end each turn with every fault", async () => {
  await withRuntime(async ({ runtime }) => {
    const { outcome } = await runtime.turn("go");
    assert.deepEqual([outcome.outcome, outcome.code], ["failed", "settings-invalid"]);
    assert.match(outcome.reason ?? "", /FLEETCTL_MODEL: not set/);
    assert.match(outcome.reason ?? "", /ANTHROPIC_API_KEY: not set/);
  }, { env: { FLEETCTL_PROVIDER: "anthropic", FLEETCTL_MODEL: "", FLEETCTL_MODEL_KEY: "" } });
});

Deno.test("a made-up tool and broken arguments become results the model can mend", async () => {
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
