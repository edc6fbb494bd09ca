/**
 * How turns and the runtime itself end: an owner cancels, the process is killed, its client
 * disconnects, the history is too long, the disk is full, or another kind of client loads a
 * session.
 *
 * @module
 */

import assert from "node:assert/strict";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import {
  fixtureServer,
  inHome,
  runtimeCommand,
  startRuntime,
} from "tests/support/runtime_process.ts";
import { hasNoTools } from "tests/fakes/model_endpoint.ts";
import { GRACE_MS, lifeline, of, withRuntime } from "tests/support/runtime_scene.ts";

Deno.test("cancel() ends a tool and its whole group; the conversation continues", async () => {
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

Deno.test("kill -9 in mid-turn interrupts the turn; the next start resumes", async () => {
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
    // The call stays open, because the turn can continue.
    assert.deepEqual(of(updates, "tool_result"), []);
    assert.match(await runtime.session.ended, /signal SIGKILL/);
    // The command must not outlive the runtime, even when the runtime had no time to end it.
    await alive.ended();

    const second = await startRuntime(home, env);
    try {
      model.script({ kind: "answer", text: "Mia." });
      assert.equal((await second.turn("what is my name?")).text, "Mia.");
    } finally {
      await second.session.close(GRACE_MS);
    }
    const { messages } = model.requests.at(-1)?.body;
    const sent = messages.map((each: { role: string; content: string }) => each.role);
    assert.deepEqual(sent.slice(1), [
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

Deno.test("a runtime without its client ends its tools; a later turn closes the open", async () => {
  await withRuntime(async ({ model, runtime, home, env }) => {
    const alive = await lifeline(home);
    const command = `exec 9>${alive.path}; sleep 1000`;
    model.script({ kind: "answer", calls: [{ tool: "bash", arguments: { command } }] });
    const turn = runtime.turn("work");
    await alive.begun;
    await runtime.session.close(20_000);
    assert.match(await runtime.session.ended, /exit code 0/);
    assert.equal((await turn).outcome.outcome, "interrupted");
    await alive.ended();
    const again = await startRuntime(home, env);
    try {
      model.script({ kind: "answer", text: "yes" });
      assert.equal((await again.turn("there?")).text, "yes");
    } finally {
      await again.session.close(GRACE_MS);
    }
    const sent = JSON.stringify(model.requests.at(-1)?.body.messages);
    assert.match(sent, /the runtime ended during the turn/);
  });
});

Deno.test("a history that is too long is sent again shorter, with a notice", async () => {
  await withRuntime(async ({ model, runtime }) => {
    for (let turn = 0; turn < 6; turn++) {
      model.script({ kind: "answer", text: "a".repeat(6_000) });
      await runtime.turn(`question ${turn} ${"q".repeat(6_000)}`);
    }
    const body = { error: { message: "maximum context length exceeded" } };
    model.script(
      { kind: "status", status: 400, body },
      { kind: "status", status: 400, body },
      { kind: "answer", text: "short enough" },
    );
    const { outcome, updates, text } = await runtime.turn("and now?");
    assert.deepEqual([outcome.outcome, text], ["completed", "short enough"]);
    const notices = of(updates, "notice").map((notice) => notice.text);
    assert.equal(notices.filter((each) => /with a shorter history/.test(each)).length, 2);
    const sizes = model.requests.slice(-3).map((each) => JSON.stringify(each.body.messages).length);
    assert.ok((sizes[2] ?? 0) < (sizes[0] ?? 0), sizes.join(" "));
    const first = model.requests.at(-1)?.body.messages[1].content;
    assert.match(first, /^\[\d+ earlier turns? (was|were) left out to fit the model's window\]/);
    assert.match(model.requests.at(-1)?.body.messages.at(-1).content, /and now\?$/);
  }, { env: { FLEETCTL_CONTEXT_TOKENS: "40000" } });
});

Deno.test("requests of a long conversation stay within the model's window", async () => {
  await withRuntime(async ({ model, runtime }) => {
    for (let turn = 0; turn < 12; turn++) {
      model.script({
        kind: "answer",
        calls: [{ tool: "bash", arguments: { command: "head -c 20000 /dev/zero | tr '\\0' x" } }],
      }, { kind: "answer", text: `answer ${turn}` });
      const { outcome } = await runtime.turn(`question ${turn}`);
      assert.equal(outcome.outcome, "completed");
    }
    for (const { body } of model.requests) {
      assert.ok(JSON.stringify(body.messages).length < 16_000 * 4);
      let open: readonly string[] = [];
      for (const message of body.messages) {
        if (message.role === "tool") assert.ok(open.includes(message.tool_call_id));
        else open = (message.tool_calls ?? []).map((call: { id: string }) => call.id);
      }
    }
  }, { env: { FLEETCTL_CONTEXT_TOKENS: "16000" }, isAside: hasNoTools });
});

Deno.test("a turn that cannot be stored is refused with the reason", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    const sessions = `${home}/.runtime-b/agent/sessions`;
    const [file] = [...Deno.readDirSync(sessions)].filter((entry) => entry.name.endsWith(".jsonl"));
    // Put a folder in place of the file, so that even root cannot append to it.
    await Deno.remove(`${sessions}/${file?.name}`);
    await Deno.mkdir(`${sessions}/${file?.name}`);
    const { outcome } = await runtime.turn("hello");
    assert.deepEqual([outcome.outcome, outcome.code], ["failed", "turn-not-stored"]);
    assert.match(outcome.reason ?? "", /Cannot append to/);
    await Deno.remove(`${sessions}/${file?.name}`);
    model.script({ kind: "answer", text: "fine" });
    assert.equal((await runtime.turn("again")).text, "fine");
  });
});

Deno.test("session/load replays the conversation; servers of a client are refused", async () => {
  await inHome(async (home) => {
    const first = await startRuntime(home);
    await first.turn('call bash {"command": "echo hi"}');
    await first.session.close(GRACE_MS);
    const { session_id } = JSON.parse(await Deno.readTextFile(`${home}/session.json`));
    const { command, args, env } = runtimeCommand();
    const child = new Deno.Command(command, {
      args: [...args],
      env: { ...env, HOME: home },
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const kinds: string[] = [];
    await client()
      .onNotification(methods.client.session.update, ({ params }) => {
        kinds.push(params.update.sessionUpdate);
      })
      .connectWith(ndJsonStream(child.stdin, child.stdout), async (agent) => {
        await agent.request(methods.agent.initialize, { protocolVersion: 1 });
        const params = { sessionId: session_id, cwd: home, mcpServers: [] };
        await agent.request(methods.agent.session.load, params);
        const mcpServers = [{ name: "x", command: "/bin/true", args: [], env: [] }];
        await assert.rejects(
          agent.request(methods.agent.session.new, { cwd: home, mcpServers }),
          /own client config/,
        );
        await assert.rejects(
          agent.request(methods.agent.session.load, { ...params, sessionId: "../../x" }),
          /there is no such session/,
        );
      });
    await child.stdin.close().catch(() => {});
    assert.equal((await child.status).code, 0);
    assert.deepEqual(kinds, [
      "user_message_chunk",
      "agent_message_chunk",
      "tool_call",
      "tool_call_update",
      "agent_message_chunk",
    ]);
  });
});

Deno.test("--check-config prints every fault and exits 2, or prints ok", async () => {
  const { command, args, env } = runtimeCommand();
  const check = async (more: Readonly<Record<string, string>>) => {
    const run = await new Deno.Command(command, {
      args: [...args, "--check-config"],
      env: { ...env, ...more },
      clearEnv: true,
    }).output();
    return [run.code, new TextDecoder().decode(run.stdout)] as const;
  };
  assert.deepEqual(await check({}), [0, "ok\n"]);
  const [code, text] = await check({ FLEETCTL_PROVIDER: "openai", FLEETCTL_BASE_URL: "x" });
  assert.equal(code, 2);
  assert.match(text, /FLEETCTL_BASE_URL/);
});
